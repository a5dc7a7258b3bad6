import { Page } from '../ui/page.tsx'

export function MonitorsPage() {
  return <Page title="Monitors">{null}</Page>
}
