import { useQuery } from '@tanstack/react-query'
import { Ellipsis, LogOut, Pencil, UserMinus } from 'lucide-react'
import { useState } from 'react'
import type { Agent } from '#contract/agents.ts'
import type { Query } from '../api.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Menu, MenuItem } from '../ui/menu.tsx'
import { Section } from '../ui/page.tsx'
import { type Column, PagedTable, rowCell } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { EditAgent } from './edit-agent.tsx'
import { agentsQuery } from './queries.ts'
import { RemoveAgent } from './remove-agent.tsx'
import { canChange, roleLabel } from './roles.ts'

export function Members() {
  const [cursor, setCursor] = useState<Query>({})
  const { organization } = useSession()
  return (
    <Section title="Members" isFlush>
      <PagedTable
        label="Members"
        columns={columnsFor(organization.agent_id)}
        list={useQuery(agentsQuery(cursor))}
        skeletonLines={3}
        onPage={setCursor}
      />
    </Section>
  )
}

const columnsFor = (you: string): Column<Agent>[] => [
  {
    id: 'name',
    header: 'Name',
    meta: { cellClassName: 'min-w-0' },
    cell: rowCell((agent) => (
      <>
        <p className="font-medium break-words">
          {agent.name}
          {agent.id === you && <span className="font-normal text-faint"> (you)</span>}
        </p>
        <p className="text-xs break-all text-faint">{agent.email}</p>
        <p className="mt-1 text-xs text-soft sm:hidden">
          {roleLabel(agent.role)} · <LastSeen agent={agent} />
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
    id: 'last_seen',
    header: 'Last seen',
    meta: { className: 'hidden sm:table-cell', cellClassName: 'text-soft' },
    cell: ({ row }) => <LastSeen agent={row.original} />,
  },
  {
    id: 'created',
    header: 'Joined',
    meta: { className: 'hidden md:table-cell', cellClassName: 'text-soft' },
    cell: ({ row }) => <Time at={row.original.created} />,
  },
  {
    id: 'actions',
    header: 'Actions',
    meta: { isHeaderHidden: true, className: 'w-0', cellClassName: 'text-right' },
    cell: rowCell((agent) => <MemberMenu agent={agent} isYou={agent.id === you} />),
  },
]

const LastSeen = ({ agent: { last_seen } }: { agent: Agent }) =>
  last_seen ? <Time at={last_seen} /> : <span className="text-faint">not yet</span>

function MemberMenu({ agent, isYou }: { agent: Agent; isYou: boolean }) {
  const { organization } = useSession()
  const [open, setOpen] = useState<'edit' | 'remove'>()
  if (!canChange(organization.role, agent.role)) return null
  const close = () => setOpen(undefined)
  return (
    <>
      <Menu
        trigger={
          <Button variant="quiet" size="sm" isSquare aria-label={`Actions for ${agent.name}`}>
            <Ellipsis />
          </Button>
        }
      >
        <MenuItem icon={Pencil} onSelect={() => setOpen('edit')}>
          Edit
        </MenuItem>
        <MenuItem icon={isYou ? LogOut : UserMinus} isDangerous onSelect={() => setOpen('remove')}>
          {isYou ? 'Leave' : 'Remove'}
        </MenuItem>
      </Menu>
      {open === 'edit' && <EditAgent agent={agent} isYou={isYou} onClose={close} />}
      <RemoveAgent agent={agent} isYou={isYou} isOpen={open === 'remove'} onClose={close} />
    </>
  )
}
