import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { Accepted, OfferedInvitation } from '#contract/account.ts'
import { ApiProblem, api } from '../api.ts'
import { meQuery, saveOrganization, useSignOut } from '../session.tsx'
import { Button, ButtonLink } from '../ui/button.tsx'
import { Skeleton } from '../ui/page.tsx'
import { ProblemNote } from '../ui/problem.tsx'
import { useSubmit } from '../ui/use-submit.ts'
import { ACCOUNT_FIELDS, AccountFields } from './account-fields.tsx'
import { Card } from './card.tsx'
import { useOpenDashboard } from './open-dashboard.ts'

const route = getRouteApi('/invitations/$token')

export function InvitationPage() {
  const { token } = route.useParams()
  const offered = useQuery({
    queryKey: ['invitation', token],
    queryFn: () => api.get<OfferedInvitation>(`/dashboard/api/invitations/${encodeURIComponent(token)}`),
  })
  const me = useQuery(meQuery)
  if (offered.isPending || me.isPending) {
    return (
      <Card title="Invitation">
        <Skeleton />
      </Card>
    )
  }
  if (offered.error) {
    const isUnknown = offered.error instanceof ApiProblem && offered.error.status === 404
    return (
      <Card title="Invitation" below={<Link to="/sign-in">Go to Zonewatch</Link>}>
        {isUnknown ? (
          <p className="text-sm text-soft">
            This invitation link is not valid. A newer link may have replaced it. Use the link in the latest email, or
            ask for a new invitation.
          </p>
        ) : (
          <ProblemNote problem={offered.error} />
        )}
      </Card>
    )
  }
  const { organization, role, email, state, has_account } = offered.data
  const title = `Join ${organization}`
  if (state !== 'pending') {
    return (
      <Card title={title} below={<Link to="/sign-in">Go to Zonewatch</Link>}>
        <p className="text-sm text-soft">{ENDED[state]}</p>
      </Card>
    )
  }
  const lead = `You are invited as ${role} with the address ${email}.`
  const signedInAs = me.data?.person.email
  if (signedInAs !== undefined && signedInAs !== email) {
    return (
      <Card title={title} lead={lead}>
        <OtherAccount email={signedInAs} />
      </Card>
    )
  }
  if (signedInAs === undefined && has_account) {
    return (
      <Card title={title} lead={lead}>
        <ButtonLink to="/sign-in" search={{ to: `/invitations/${token}` }} variant="primary" className="w-full">
          Sign in to accept
        </ButtonLink>
      </Card>
    )
  }
  return (
    <Card title={title} lead={lead}>
      <Accept token={token} {...(signedInAs === undefined ? { newEmail: email } : {})} />
    </Card>
  )
}

const ENDED = {
  accepted: 'This invitation has already been accepted. Sign in to continue.',
  expired: 'This invitation has expired. Ask for a new one.',
  revoked: 'This invitation was revoked.',
}

/** `newEmail` is set for users without an account, who create one here. */
function Accept({ token, newEmail }: { token: string; newEmail?: string }) {
  const openDashboard = useOpenDashboard()
  const { isBusy, problem, onSubmit } = useSubmit(async (form) => {
    const body = newEmail === undefined ? {} : { name: form.get('name'), password: form.get('password') }
    const path = `/dashboard/api/invitations/${encodeURIComponent(token)}/accept`
    const { organization_id } = await api.post<Accepted>(path, body)
    saveOrganization(organization_id)
    await openDashboard()
  })
  return (
    <form onSubmit={onSubmit} className="flex flex-col gap-4">
      {newEmail !== undefined && <AccountFields problem={problem} email={newEmail} />}
      {problem !== undefined && <ProblemNote problem={problem} fields={ACCOUNT_FIELDS} />}
      <Button type="submit" variant="primary" isBusy={isBusy}>
        {newEmail === undefined ? 'Accept' : 'Create account and join'}
      </Button>
    </form>
  )
}

function OtherAccount({ email }: { email: string }) {
  const signOut = useSignOut()
  return (
    <div className="flex flex-col gap-4 text-sm text-soft">
      You are signed in as {email}. Sign out first, then open the link again.
      <Button onClick={() => void signOut()}>Sign out</Button>
    </div>
  )
}
