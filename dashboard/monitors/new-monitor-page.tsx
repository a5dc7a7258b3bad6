import { Page } from '../ui/page.tsx'

export function NewMonitorPage() {
  return <Page title="New monitor">{null}</Page>
}
