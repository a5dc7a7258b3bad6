import { useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { CalendarClock, CircleCheck, Ellipsis, Pencil, Plus, Trash2, Wrench } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import type { MaintenanceWindow } from '#contract/maintenance.ts'
import { api } from '../api.ts'
import { useUnchanged } from '../edit/unchanged.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { EmptyState } from '../ui/empty-state.tsx'
import { Menu, MenuItem } from '../ui/menu.tsx'
import { Code, Section } from '../ui/page.tsx'
import { Badge } from '../ui/state.tsx'
import { type Column, PagedTable, rowCell } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { useToast } from '../ui/toast.tsx'
import { groupsQuery } from '../webhooks/queries.ts'
import { windowsQuery } from './queries.ts'

const route = getRouteApi('/signed-in/alerts')
const MaintenanceDialog = lazy(async () => ({
  default: (await import('./maintenance-dialog.tsx')).MaintenanceDialog,
}))

export function MaintenanceWindows() {
  const { can } = useSession()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const list = useQuery(windowsQuery)
  const { data: groups } = useQuery(groupsQuery)
  const groupName = (id: string) => groups?.data.find((group) => group.id === id)?.name ?? id
  const isNew = search.open === 'new'
  const setNew = (isOpen: boolean) =>
    void navigate({ search: isOpen ? { tab: 'maintenance', open: 'new' } : { tab: 'maintenance' }, replace: true })
  const newButton = can('write') && (
    <Button variant="primary" onClick={() => setNew(true)}>
      <Plus /> New window
    </Button>
  )
  return (
    <>
      <Section
        title="Maintenance windows"
        hint="Alerts are held while a window is active. Checks, events and webhooks continue."
        isFlush
        actions={newButton}
      >
        <PagedTable
          label="Maintenance windows"
          columns={columnsWith(groupName)}
          list={list}
          skeletonLines={3}
          empty={
            <EmptyState icon={Wrench} title="No maintenance windows" action={newButton}>
              <p>Create one before planned work. Monitors that still fail when it ends send their alerts then.</p>
            </EmptyState>
          }
        />
      </Section>
      <Suspense>{isNew && <MaintenanceDialog onClose={() => setNew(false)} />}</Suspense>
    </>
  )
}

const columnsWith = (groupName: (id: string) => string): Column<MaintenanceWindow>[] => [
  {
    id: 'window',
    header: 'Window',
    meta: { cellClassName: 'min-w-0' },
    cell: rowCell((window) => (
      <>
        <p className="font-medium break-words">{window.name}</p>
        <p className="text-xs break-words text-faint">{includedText(window, groupName)}</p>
      </>
    )),
  },
  {
    id: 'period',
    header: 'Now or next',
    meta: { className: 'hidden sm:table-cell', cellClassName: 'text-soft' },
    cell: ({ row }) => <Period window={row.original} />,
  },
  {
    id: 'rrule',
    header: 'Repeats',
    meta: { className: 'hidden md:table-cell', cellClassName: 'text-soft' },
    cell: rowCell(({ rrule, timezone }) =>
      rrule === null ? (
        'Once'
      ) : (
        <>
          <Code className="break-all">{rrule}</Code>
          <p className="text-xs text-faint">{timezone}</p>
        </>
      ),
    ),
  },
  { id: 'status', header: 'Status', cell: ({ row }) => <Status window={row.original} /> },
  {
    id: 'actions',
    header: 'Actions',
    meta: { isHeaderHidden: true, className: 'w-px' },
    cell: ({ row }) => <WindowMenu window={row.original} />,
  },
]

function Period({ window: { occurrences, from, to } }: { window: MaintenanceWindow }) {
  const shown = occurrences[0] ?? { from, to }
  return (
    <>
      <Time at={shown.from} isExact />
      <br />
      <span className="text-faint">
        to <Time at={shown.to} isExact />
      </span>
    </>
  )
}

function Status({ window: { is_active, occurrences } }: { window: MaintenanceWindow }) {
  if (is_active) return <Badge tone="warn" icon={Wrench} label="Active" />
  if (occurrences.length === 0) return <Badge tone="idle" icon={CircleCheck} label="Ended" />
  return <Badge tone="idle" icon={CalendarClock} label="Scheduled" />
}

/** The included monitors in one line. */
function includedText(
  { monitors, groups, name_pattern }: MaintenanceWindow,
  groupName: (id: string) => string,
): string {
  const parts = [
    ...(name_pattern === null ? [] : [name_pattern]),
    ...(groups === null ? [] : [groups.map(groupName).join(', ')]),
    ...(monitors === null ? [] : [monitors.length === 1 ? '1 monitor' : `${monitors.length} monitors`]),
  ]
  return parts.length === 0 ? 'every monitor' : parts.join(' · ')
}

const SEEN = ['name', 'monitors', 'groups', 'name_pattern', 'from', 'to', 'rrule', 'timezone'] as const

function WindowMenu({ window }: { window: MaintenanceWindow }) {
  const path = `/maintenance-windows/${window.id}`
  const unchanged = useUnchanged()
  const { can } = useSession()
  const [open, setOpen] = useState<'edit' | 'delete'>()
  const queries = useQueryClient()
  const toast = useToast()
  const remove = async () => {
    await api.deleteIfMatch(path, await unchanged(path, window, SEEN))
    void queries.invalidateQueries({ queryKey: ['maintenance windows'] })
    toast.done('Maintenance window deleted.')
  }
  if (!can('write')) return null
  return (
    <>
      <Menu
        trigger={
          <Button size="sm" variant="quiet" isSquare aria-label={`More actions for ${window.name}`}>
            <Ellipsis />
          </Button>
        }
      >
        <MenuItem icon={Pencil} onSelect={() => setOpen('edit')}>
          Edit
        </MenuItem>
        <MenuItem icon={Trash2} isDangerous onSelect={() => setOpen('delete')}>
          Delete
        </MenuItem>
      </Menu>
      <Suspense>{open === 'edit' && <MaintenanceDialog window={window} onClose={() => setOpen(undefined)} />}</Suspense>
      <Confirm
        isOpen={open === 'delete'}
        onClose={() => setOpen(undefined)}
        title="Delete this maintenance window?"
        confirmLabel="Delete window"
        isDangerous
        onConfirm={remove}
      >
        Held alerts of {window.name} are sent now if their monitors still fail.
      </Confirm>
    </>
  )
}
