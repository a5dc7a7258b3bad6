import { useNavigate, useSearch } from '@tanstack/react-router'
import { UserPlus } from 'lucide-react'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Page, Section } from '../ui/page.tsx'
import { Invitations } from './invitations.tsx'
import { Invite } from './invite.tsx'
import { Members } from './members.tsx'
import { ROLES } from './roles.ts'

export function TeamPage() {
  const { can, organization } = useSession()
  const isInviting = useSearch({ from: '/signed-in/team' }).open === 'invite'
  const navigate = useNavigate({ from: '/team' })
  const setInviting = (isOpen: boolean) => void navigate({ search: isOpen ? { open: 'invite' } : {}, replace: true })
  return (
    <Page
      title="Team"
      help="guides/accounts"
      lead={`Members of ${organization.name}.`}
      actions={
        can('manage') && (
          <Button variant="primary" onClick={() => setInviting(true)}>
            <UserPlus /> Invite
          </Button>
        )
      }
    >
      <div className="flex flex-col gap-6">
        <Members />
        {can('manage') && <Invitations />}
        <RoleList />
      </div>
      {isInviting && can('manage') && <Invite onClose={() => setInviting(false)} />}
    </Page>
  )
}

function RoleList() {
  const { can, organization } = useSession()
  return (
    <Section
      title="Roles"
      hint={
        can('manage')
          ? undefined
          : `Your role is ${organization.role}. Admins and owners invite people and change roles.`
      }
    >
      <dl className="grid gap-x-6 gap-y-2 text-sm sm:grid-cols-[7rem_1fr]">
        {ROLES.map(({ value, label, hint }) => (
          <div key={value} className="sm:contents">
            <dt className="font-medium">{label}</dt>
            <dd className="text-soft">{hint}</dd>
          </div>
        ))}
      </dl>
    </Section>
  )
}
