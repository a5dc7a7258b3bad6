import { Page } from '../ui/page.tsx'

export function OverviewPage() {
  return <Page title="Overview">{null}</Page>
}
