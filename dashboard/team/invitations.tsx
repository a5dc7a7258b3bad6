import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Ban, CircleCheck, Clock, Ellipsis, Link2, type LucideIcon, Send, TimerOff } from 'lucide-react'
import { useState } from 'react'
import type { Invitation } from '#contract/agents.ts'
import { api, type Query } from '../api.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { Menu, MenuItem } from '../ui/menu.tsx'
import { Section, Skeleton } from '../ui/page.tsx'
import { ProblemPage } from '../ui/problem.tsx'
import { Badge, type Tone } from '../ui/state.tsx'
import { Cell, Head, Pager, Table } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { useToast } from '../ui/toast.tsx'
import { PassOnInvitation } from './pass-on-invitation.tsx'
import { invitationsQuery } from './queries.ts'
import { mayChange, roleLabel } from './roles.ts'

const STATES: Record<Invitation['state'], { word: string; tone: Tone; icon: LucideIcon }> = {
  pending: { word: 'Pending', tone: 'warn', icon: Clock },
  accepted: { word: 'Accepted', tone: 'good', icon: CircleCheck },
  expired: { word: 'Expired', tone: 'idle', icon: TimerOff },
  revoked: { word: 'Revoked', tone: 'idle', icon: Ban },
}

export function Invitations() {
  const [cursor, setCursor] = useState<Query>({})
  const { data: page, error, refetch } = useQuery(invitationsQuery(cursor))
  return (
    <Section title="Invitations" isFlush>
      {error && !page ? (
        <ProblemPage problem={error} onRetry={() => void refetch()} />
      ) : !page ? (
        <Skeleton lines={2} className="p-4" />
      ) : page.data.length === 0 ? (
        <p className="px-4 py-8 text-center text-sm text-faint">
          No invitations yet. People you invite receive a link that works once and expires in seven days.
        </p>
      ) : (
        <Table
          label="Invitations"
          head={
            <>
              <Head>Email</Head>
              <Head className="hidden sm:table-cell">Role</Head>
              <Head className="hidden sm:table-cell">State</Head>
              <Head className="hidden md:table-cell">Invited</Head>
              <Head className="hidden md:table-cell">Expires</Head>
              <Head hidden="Actions" className="w-0" />
            </>
          }
        >
          {page.data.map((invitation) => (
            <Line key={invitation.id} invitation={invitation} />
          ))}
        </Table>
      )}
      <Pager page={page} onAfter={(after) => setCursor({ after })} onBefore={(before) => setCursor({ before })} />
    </Section>
  )
}

function Line({ invitation }: { invitation: Invitation }) {
  const { email, role, state, created, expires } = invitation
  const { word, tone, icon } = STATES[state]
  const badge = (
    <Badge tone={tone} icon={icon}>
      {word}
    </Badge>
  )
  return (
    <tr>
      <Cell className="min-w-0">
        <p className="break-all">{email}</p>
        <p className="mt-1.5 flex flex-wrap items-center gap-2 text-xs text-faint sm:hidden">
          {badge} {roleLabel(role)}
        </p>
      </Cell>
      <Cell className="hidden sm:table-cell">{roleLabel(role)}</Cell>
      <Cell className="hidden sm:table-cell">{badge}</Cell>
      <Cell className="hidden text-soft md:table-cell">
        <Time at={created} />
      </Cell>
      <Cell className="hidden text-soft md:table-cell">{state === 'pending' ? <Time at={expires} /> : null}</Cell>
      <Cell className="text-right">
        <InvitationMenu invitation={invitation} />
      </Cell>
    </tr>
  )
}

/** Nothing can be done to one that was accepted or revoked. */
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
  if (state === 'accepted' || state === 'revoked' || !mayChange(organization.role, role)) return null
  return (
    <>
      <Menu
        trigger={
          <Button
            look="quiet"
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
      {open === 'link' && <PassOnInvitation email={email} onClose={() => setOpen(undefined)} />}
      <Confirm
        isOpen={open === 'revoke'}
        onClose={() => setOpen(undefined)}
        title="Revoke this invitation?"
        act="Revoke"
        isDangerous
        onConfirm={revoke}
      >
        The link that {email} has stops working at once. You can invite the address again.
      </Confirm>
    </>
  )
}
