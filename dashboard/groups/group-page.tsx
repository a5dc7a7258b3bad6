import { Page } from '../ui/page.tsx'

export function GroupPage() {
  return <Page title="Group">{null}</Page>
}
