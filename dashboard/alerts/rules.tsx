import { useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import {
  BellRing,
  CircleCheck,
  Ellipsis,
  PauseCircle,
  Pencil,
  PlayCircle,
  Plus,
  Trash2,
  TriangleAlert,
} from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import type { AlertRule } from '#contract/alerts.ts'
import { api } from '../api.ts'
import { useUnchanged } from '../edit/unchanged.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { EmptyState } from '../ui/empty-state.tsx'
import { Menu, MenuItem, MenuSeparator } from '../ui/menu.tsx'
import { Section } from '../ui/page.tsx'
import { Badge, STATE_DISPLAY } from '../ui/state.tsx'
import { type Column, PagedTable, rowCell } from '../ui/table.tsx'
import { useToast } from '../ui/toast.tsx'
import { groupsQuery } from '../webhooks/queries.ts'
import { channelsQuery, rulesQuery } from './queries.ts'
import { canOverlap } from './rule-overlap.ts'

const route = getRouteApi('/signed-in/alerts')
const RuleDialog = lazy(async () => ({ default: (await import('./rule-dialog.tsx')).RuleDialog }))

export function Rules() {
  const { can } = useSession()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const list = useQuery(rulesQuery)
  const { data: channels } = useQuery(channelsQuery)
  const { data: groups } = useQuery(groupsQuery)
  const channelName = (id: string) => channels?.data.find((channel) => channel.id === id)?.name ?? ''
  const groupName = (id: string) => groups?.data.find((group) => group.id === id)?.name ?? id
  const isNew = search.open === 'new'
  const setNew = (isOpen: boolean) =>
    void navigate({ search: isOpen ? { tab: 'rules', open: 'new' } : { tab: 'rules' }, replace: true })
  const newButton = can('write') && (
    <Button variant="primary" onClick={() => setNew(true)}>
      <Plus /> New rule
    </Button>
  )
  return (
    <>
      <Section
        title="Alert rules"
        hint="Every rule that matches a failure sends it. A note marks rules that can send the same failure to the same channel."
        isFlush
        actions={newButton}
      >
        <PagedTable
          label="Alert rules"
          columns={columnsWith(list.data?.data ?? [], channelName, groupName)}
          list={list}
          skeletonLines={3}
          empty={
            <EmptyState icon={BellRing} title="No alert rules" action={newButton}>
              <p>Nobody is alerted. A rule says which failures are sent to which channels, and after which delay.</p>
            </EmptyState>
          }
        />
      </Section>
      <Suspense>{isNew && <RuleDialog onClose={() => setNew(false)} />}</Suspense>
    </>
  )
}

type NameOf = (id: string) => string

const columnsWith = (rules: readonly AlertRule[], channelName: NameOf, groupName: NameOf): Column<AlertRule>[] => [
  {
    id: 'rule',
    header: 'Rule',
    meta: { cellClassName: 'min-w-0' },
    cell: rowCell((rule) => (
      <>
        <p className="font-medium break-words">{rule.name}</p>
        <p className="text-xs break-words text-faint">{filterText(rule, groupName)}</p>
        <Overlaps names={rules.filter((other) => canOverlap(rule, other)).map(({ name }) => name)} />
      </>
    )),
  },
  {
    id: 'channels',
    header: 'Sent to',
    meta: { className: 'hidden sm:table-cell', cellClassName: 'text-soft' },
    cell: ({ row }) => row.original.channels.map(channelName).join(', '),
  },
  {
    id: 'delay',
    header: 'After',
    meta: { className: 'hidden md:table-cell', cellClassName: 'whitespace-nowrap text-soft' },
    cell: rowCell((original) => (original.delay === 0 ? 'at once' : `${original.delay} min`)),
  },
  {
    id: 'status',
    header: 'Status',
    cell: rowCell(({ is_active }) => (
      <Badge
        tone={is_active ? 'good' : 'idle'}
        icon={is_active ? CircleCheck : PauseCircle}
        label={is_active ? 'Active' : 'Disabled'}
      />
    )),
  },
  {
    id: 'actions',
    header: 'Actions',
    meta: { isHeaderHidden: true, className: 'w-px' },
    cell: ({ row }) => <RuleMenu rule={row.original} />,
  },
]

function Overlaps({ names }: { names: readonly string[] }) {
  if (names.length === 0) return null
  return (
    <p className="mt-1 flex gap-1.5 text-xs text-warn">
      <TriangleAlert className="mt-0.5 size-3.5 shrink-0" aria-hidden="true" />
      <span className="min-w-0 break-words">May send a failure to the same channel as {names.join(', ')}.</span>
    </p>
  )
}

/** What a rule is about, in a line. */
function filterText(
  { groups, name_pattern, tags, record_types, states, zone_levels }: AlertRule,
  groupName: (id: string) => string,
): string {
  const parts = [
    ...(name_pattern === null ? [] : [name_pattern]),
    ...(groups === null ? [] : [groups.map(groupName).join(', ')]),
    ...(tags === null ? [] : [tags.map((tag) => `tag:${tag}`).join(' ')]),
    ...(record_types === null ? [] : [record_types.join(', ')]),
    ...(states === null ? [] : [states.map((state) => STATE_DISPLAY[state].label).join(', ')]),
  ]
  const zones =
    groups === null && tags === null && zone_levels.length > 0 ? `zones: ${zone_levels.join(', ')}` : 'no zones'
  return `${parts.length === 0 ? 'Every failure of every monitor' : parts.join(' · ')} · ${zones}`
}

const SEEN = [
  'name',
  'groups',
  'tags',
  'record_types',
  'states',
  'zone_levels',
  'channels',
  'delay',
  'is_active',
] as const

function RuleMenu({ rule }: { rule: AlertRule }) {
  const path = `/alert-rules/${rule.id}`
  const unchanged = useUnchanged()
  const { can } = useSession()
  const [open, setOpen] = useState<'edit' | 'delete'>()
  const queries = useQueryClient()
  const toast = useToast()
  const refresh = () => void queries.invalidateQueries({ queryKey: ['alert rules'] })
  const setActive = async (is_active: boolean) => {
    try {
      await api.patchIfMatch(path, { is_active }, await unchanged(path, rule, SEEN))
      refresh()
    } catch (problem) {
      toast.failed(problem)
    }
  }
  const remove = async () => {
    await api.deleteIfMatch(path, await unchanged(path, rule, SEEN))
    refresh()
    toast.done('Alert rule deleted.')
  }
  if (!can('write')) return null
  return (
    <>
      <Menu
        trigger={
          <Button size="sm" variant="quiet" isSquare aria-label={`More actions for ${rule.name}`}>
            <Ellipsis />
          </Button>
        }
      >
        <MenuItem icon={Pencil} onSelect={() => setOpen('edit')}>
          Edit
        </MenuItem>
        <MenuItem icon={rule.is_active ? PauseCircle : PlayCircle} onSelect={() => void setActive(!rule.is_active)}>
          {rule.is_active ? 'Disable' : 'Enable'}
        </MenuItem>
        <MenuSeparator />
        <MenuItem icon={Trash2} isDangerous onSelect={() => setOpen('delete')}>
          Delete
        </MenuItem>
      </Menu>
      <Suspense>{open === 'edit' && <RuleDialog rule={rule} onClose={() => setOpen(undefined)} />}</Suspense>
      <Confirm
        isOpen={open === 'delete'}
        onClose={() => setOpen(undefined)}
        title="Delete this alert rule?"
        confirmLabel="Delete rule"
        isDangerous
        onConfirm={remove}
      >
        Alerts of {rule.name} that are not sent yet are canceled. You cannot undo this.
      </Confirm>
    </>
  )
}
