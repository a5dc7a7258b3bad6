import { Page } from '../ui/page.tsx'

export function SignUpPage() {
  return <Page title="Sign up">{null}</Page>
}
