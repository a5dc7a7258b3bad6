import { Page } from '../ui/page.tsx'

export function WebhookPage() {
  return <Page title="Webhook">{null}</Page>
}
