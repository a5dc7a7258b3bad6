import { useQuery } from '@tanstack/react-query'
import { Ellipsis, LogOut, Pencil, UserMinus } from 'lucide-react'
import { useState } from 'react'
import type { Agent } from '#contract/agents.ts'
import type { Query } from '../api.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Menu, MenuItem } from '../ui/menu.tsx'
import { Section, Skeleton } from '../ui/page.tsx'
import { ProblemPage } from '../ui/problem.tsx'
import { Cell, Head, Pager, Table } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { EditAgent } from './edit-agent.tsx'
import { agentsQuery } from './queries.ts'
import { RemoveAgent } from './remove-agent.tsx'
import { mayChange, roleLabel } from './roles.ts'

export function People() {
  const [cursor, setCursor] = useState<Query>({})
  const { data: page, error, refetch } = useQuery(agentsQuery(cursor))
  return (
    <Section title="People" isFlush>
      {error && !page ? (
        <ProblemPage problem={error} onRetry={() => void refetch()} />
      ) : !page ? (
        <Skeleton lines={3} className="p-4" />
      ) : (
        <Table
          label="People"
          head={
            <>
              <Head>Name</Head>
              <Head className="hidden sm:table-cell">Role</Head>
              <Head className="hidden sm:table-cell">Last seen</Head>
              <Head className="hidden md:table-cell">Joined</Head>
              <Head hidden="Actions" className="w-0" />
            </>
          }
        >
          {page.data.map((agent) => (
            <Person key={agent.id} agent={agent} />
          ))}
        </Table>
      )}
      <Pager page={page} onAfter={(after) => setCursor({ after })} onBefore={(before) => setCursor({ before })} />
    </Section>
  )
}

function Person({ agent }: { agent: Agent }) {
  const { organization } = useSession()
  const isYou = agent.id === organization.agent_id
  return (
    <tr>
      <Cell className="min-w-0">
        <p className="font-medium break-words">
          {agent.name}
          {isYou && <span className="font-normal text-faint"> (you)</span>}
        </p>
        <p className="text-xs break-all text-faint">{agent.email}</p>
        <p className="mt-1 text-xs text-soft sm:hidden">
          {roleLabel(agent.role)} · <Seen agent={agent} />
        </p>
      </Cell>
      <Cell className="hidden sm:table-cell">{roleLabel(agent.role)}</Cell>
      <Cell className="hidden text-soft sm:table-cell">
        <Seen agent={agent} />
      </Cell>
      <Cell className="hidden text-soft md:table-cell">
        <Time at={agent.created} />
      </Cell>
      <Cell className="text-right">
        <PersonMenu agent={agent} isYou={isYou} />
      </Cell>
    </tr>
  )
}

const Seen = ({ agent: { last_seen } }: { agent: Agent }) =>
  last_seen ? <Time at={last_seen} /> : <span className="text-faint">not yet</span>

function PersonMenu({ agent, isYou }: { agent: Agent; isYou: boolean }) {
  const { organization } = useSession()
  const [open, setOpen] = useState<'edit' | 'remove'>()
  if (!mayChange(organization.role, agent.role)) return null
  const close = () => setOpen(undefined)
  return (
    <>
      <Menu
        trigger={
          <Button look="quiet" size="sm" isSquare aria-label={`Actions for ${agent.name}`}>
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
