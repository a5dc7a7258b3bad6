import type { Me } from '#contract/account.ts'
import { Card } from '../account/card.tsx'
import { useSignOut } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { NewOrganizationForm } from './new-organization.tsx'

/** For users who were removed from their last organization. */
export function NoOrganization({ me }: { me: Me }) {
  const signOut = useSignOut()
  return (
    <Card title="No organization" lead={`You are signed in as ${me.person.email}.`}>
      <div className="flex flex-col gap-4">
        <p className="text-sm text-soft">
          Ask an admin for an invitation to this address
          {me.server.sign_up ? ', or create an organization.' : '.'}
        </p>
        {me.server.sign_up && <NewOrganizationForm />}
        <Button onClick={() => void signOut()}>Sign out</Button>
      </div>
    </Card>
  )
}
