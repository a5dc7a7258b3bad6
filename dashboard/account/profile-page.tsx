import { Page } from '../ui/page.tsx'

export function ProfilePage() {
  return <Page title="Your account">{null}</Page>
}
