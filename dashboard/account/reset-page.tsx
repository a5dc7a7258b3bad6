import { Page } from '../ui/page.tsx'

export function ResetPage() {
  return <Page title="New password">{null}</Page>
}
