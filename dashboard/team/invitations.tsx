import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Ban, CircleCheck, Clock, Ellipsis, Link2, type LucideIcon, Send, TimerOff } from 'lucide-react'
import { useState } from 'react'
import type { Invitation } from '#contract/agents.ts'
import { api, type Query } from '../api.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { Menu, MenuItem } from '../ui/menu.tsx'
import { Section } from '../ui/page.tsx'
import { Badge, type Tone } from '../ui/state.tsx'
import { type Column, PagedTable, rowCell } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { useToast } from '../ui/toast.tsx'
import { invitationsQuery } from './queries.ts'
import { canChange, roleLabel } from './roles.ts'
import { ShareInvitation } from './share-invitation.tsx'

const STATES: Record<Invitation['state'], { label: string; tone: Tone; icon: LucideIcon }> = {
  pending: { label: 'Pending', tone: 'warn', icon: Clock },
  accepted: { label: 'Accepted', tone: 'good', icon: CircleCheck },
  expired: { label: 'Expired', tone: 'idle', icon: TimerOff },
  revoked: { label: 'Revoked', tone: 'idle', icon: Ban },
}

export function Invitations() {
  const [cursor, setCursor] = useState<Query>({})
  return (
    <Section title="Invitations" isFlush>
      <PagedTable
        label="Invitations"
        columns={COLUMNS}
        list={useQuery(invitationsQuery(cursor))}
        skeletonLines={2}
        onPage={setCursor}
        empty={
          <p className="px-4 py-8 text-center text-sm text-faint">
            No invitations yet. Members you invite receive a link that works once and expires in seven days.
          </p>
        }
      />
    </Section>
  )
}

function InvitationBadge({ invitation: { state } }: { invitation: Invitation }) {
  const { label, tone, icon } = STATES[state]
  return <Badge tone={tone} icon={icon} label={label} />
}

const COLUMNS: Column<Invitation>[] = [
  {
    id: 'email',
    header: 'Email',
    meta: { cellClassName: 'min-w-0' },
    cell: rowCell((invitation) => (
      <>
        <p className="break-all">{invitation.email}</p>
        <p className="mt-1.5 flex flex-wrap items-center gap-2 text-xs text-faint sm:hidden">
          <InvitationBadge invitation={invitation} /> {roleLabel(invitation.role)}
        </p>
      </>
    )),
  },
  {
    id: 'role',
    header: 'Role',
    meta: { className: 'hidden sm:table-cell' },
    cell: ({ row }) => roleLabel(row.original.role),
  },
  {
    id: 'state',
    header: 'State',
    meta: { className: 'hidden sm:table-cell' },
    cell: ({ row }) => <InvitationBadge invitation={row.original} />,
  },
  {
    id: 'created',
    header: 'Invited',
    meta: { className: 'hidden md:table-cell', cellClassName: 'text-soft' },
    cell: ({ row }) => <Time at={row.original.created} />,
  },
  {
    id: 'expires',
    header: 'Expires',
    meta: { className: 'hidden md:table-cell', cellClassName: 'text-soft' },
    cell: rowCell((original) => original.state === 'pending' && <Time at={original.expires} />),
  },
  {
    id: 'actions',
    header: 'Actions',
    meta: { isHeaderHidden: true, className: 'w-0', cellClassName: 'text-right' },
    cell: ({ row }) => <InvitationMenu invitation={row.original} />,
  },
]

/** None for accepted and revoked invitations. */
function InvitationMenu({ invitation: { id, email, role, state } }: { invitation: Invitation }) {
  const { me, organization } = useSession()
  const queries = useQueryClient()
  const toast = useToast()
  const [open, setOpen] = useState<'link' | 'revoke'>()
  const refresh = () => {
    for (const key of ['agents', 'mails', 'organization']) void queries.invalidateQueries({ queryKey: [key] })
  }
  const resend = useMutation({
    mutationFn: () => api.post(`/agents/invitations/${id}/resend`),
    onSuccess: () => {
      refresh()
      if (me.server.sends_mail) toast.done(`New link sent to ${email}. The previous link no longer works.`)
      else setOpen('link')
    },
    onError: toast.failed,
  })
  const revoke = async () => {
    await api.delete(`/agents/invitations/${id}`)
    refresh()
    toast.done('Invitation revoked.')
  }
  if (state === 'accepted' || state === 'revoked' || !canChange(organization.role, role)) return null
  return (
    <>
      <Menu
        trigger={
          <Button
            variant="quiet"
            size="sm"
            isSquare
            isBusy={resend.isPending}
            aria-label={`Actions for the invitation of ${email}`}
          >
            <Ellipsis />
          </Button>
        }
      >
        {!me.server.sends_mail && state === 'pending' && (
          <MenuItem icon={Link2} onSelect={() => setOpen('link')}>
            Show link
          </MenuItem>
        )}
        <MenuItem icon={Send} onSelect={() => resend.mutate()}>
          {me.server.sends_mail ? 'Resend' : 'Create new link'}
        </MenuItem>
        <MenuItem icon={Ban} isDangerous onSelect={() => setOpen('revoke')}>
          Revoke
        </MenuItem>
      </Menu>
      {open === 'link' && <ShareInvitation email={email} onClose={() => setOpen(undefined)} />}
      <Confirm
        isOpen={open === 'revoke'}
        onClose={() => setOpen(undefined)}
        title="Revoke this invitation?"
        confirmLabel="Revoke"
        isDangerous
        onConfirm={revoke}
      >
        The link that {email} has stops working at once. You can invite the address again.
      </Confirm>
    </>
  )
}
