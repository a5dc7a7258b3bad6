import { Page } from '../ui/page.tsx'

export function MonitorPage() {
  return <Page title="Monitor">{null}</Page>
}
