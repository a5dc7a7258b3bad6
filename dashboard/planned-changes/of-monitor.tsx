import { useQuery } from '@tanstack/react-query'
import { CalendarClock, CircleCheck, CircleDashed, CircleX, Wrench } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import type { PlannedChange } from '#contract/planned-changes.ts'
import { changeOfMonitorQuery, windowsOfMonitorQuery } from '../alerts/queries.ts'
import { api } from '../api.ts'
import { useUnchanged } from '../edit/unchanged.ts'
import type { MonitorDetails } from '../monitors/queries.ts'
import { useRefresh } from '../monitors/queries.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { Code, Section } from '../ui/page.tsx'
import { Badge, type Tone } from '../ui/state.tsx'
import { type Column, DataTable, rowCell } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { useToast } from '../ui/toast.tsx'

const PlanDialog = lazy(async () => ({ default: (await import('./dialog.tsx')).PlanDialog }))

/** Shown during a maintenance window that includes the monitor. */
export function MaintenanceNote({ monitor }: { monitor: MonitorDetails }) {
  const { data: page } = useQuery(windowsOfMonitorQuery(monitor.id))
  const [window] = page?.data ?? []
  if (!window) return null
  const until = window.occurrences[0]!.to
  return (
    <p role="status" className="flex gap-2.5 rounded-md bg-warn-wash px-3 py-2.5 text-sm text-warn">
      <Wrench className="mt-0.5 size-4 shrink-0" aria-hidden="true" />
      <span>
        Maintenance: {window.name}. Alerts of this monitor are held until <Time at={until} isExact />.
      </span>
    </p>
  )
}

const OPEN_STATES = ['SCHEDULED', 'IN_PROGRESS']

const STATE_DISPLAY: Record<PlannedChange['state'], { label: string; tone: Tone; icon: typeof CircleCheck }> = {
  SCHEDULED: { label: 'Scheduled', tone: 'idle', icon: CalendarClock },
  IN_PROGRESS: { label: 'In progress', tone: 'warn', icon: CircleDashed },
  DONE: { label: 'Done', tone: 'good', icon: CircleCheck },
  NOT_ARRIVED: { label: 'Not arrived', tone: 'bad', icon: CircleX },
  CANCELED: { label: 'Canceled', tone: 'idle', icon: CircleX },
}

export function ChangeState({ state }: Pick<PlannedChange, 'state'>) {
  return <Badge {...STATE_DISPLAY[state]} />
}

/** How long a closed change is shown. */
const CLOSED_VISIBLE_MS = 24 * 60 * 60_000

/** The planned change of a monitor, until one day after it is closed. */
export function MonitorPlanned({ monitor }: { monitor: MonitorDetails }) {
  const { can } = useSession()
  const { data: change } = useQuery(changeOfMonitorQuery(monitor.id))
  const [open, setOpen] = useState<'edit' | 'delete'>()
  const refresh = useRefresh()
  const toast = useToast()
  const unchanged = useUnchanged()
  if (!change) return null
  const isOpen = OPEN_STATES.includes(change.state)
  if (!isOpen && (change.state === 'CANCELED' || Date.now() - Date.parse(change.closed!) > CLOSED_VISIBLE_MS))
    return null
  const remove = async () => {
    const path = `/planned-changes/${change.id}`
    await api.deleteIfMatch(path, await unchanged(path, change, ['state', 'new_value', 'from', 'to']))
    await refresh()
    toast.done('Planned change deleted.')
  }
  return (
    <Section
      title="Planned change"
      hint={<Summary change={change} />}
      isFlush={change.progress !== null}
      actions={
        <div className="flex items-center gap-2">
          <ChangeState state={change.state} />
          {isOpen && can('write') && (
            <>
              <Button size="sm" onClick={() => setOpen('edit')}>
                Edit
              </Button>
              <Button size="sm" onClick={() => setOpen('delete')}>
                Cancel change
              </Button>
            </>
          )}
        </div>
      }
    >
      {change.progress ? (
        <Servers change={change} />
      ) : (
        <p className="text-sm text-soft">
          From <Time at={change.from} isExact /> on, the old values, the new ones and a mix of both are valid.
        </p>
      )}
      <Suspense>
        {open === 'edit' && <PlanDialog monitor={monitor} change={change} onClose={() => setOpen(undefined)} />}
      </Suspense>
      <Confirm
        isOpen={open === 'delete'}
        onClose={() => setOpen(undefined)}
        title="Cancel this planned change?"
        confirmLabel="Cancel change"
        isDangerous
        onConfirm={remove}
      >
        The monitor expects the old values again. If the record has already changed, the monitor fails.
      </Confirm>
    </Section>
  )
}

function Summary({ change: { old_value, new_value, from, to, state, progress } }: { change: PlannedChange }) {
  return (
    <>
      <Code>{old_value.join(', ')}</Code> → <Code>{new_value.join(', ')}</Code>, from <Time at={from} isExact /> to{' '}
      <Time at={to} isExact />.{state === 'IN_PROGRESS' && <CacheExpiry progress={progress} />}
      {state === 'NOT_ARRIVED' && ' The new values are expected now and have not arrived.'}
    </>
  )
}

function CacheExpiry({ progress }: Pick<PlannedChange, 'progress'>) {
  if (!progress) return null
  if (progress.caches_until === null) return ' Not all name servers return the new values yet.'
  return (
    <>
      {' '}
      The old values expire in the last cache at <Time at={progress.caches_until} isExact />.
    </>
  )
}

type Server = NonNullable<PlannedChange['progress']>['servers'][number]
type Answer = Server['answer']

const ANSWER_DISPLAY: Record<Answer, { label: string; tone: Tone; icon: typeof CircleCheck }> = {
  new: { label: 'New values', tone: 'good', icon: CircleCheck },
  old: { label: 'Old values', tone: 'idle', icon: CircleDashed },
  mixed: { label: 'Both', tone: 'warn', icon: CircleDashed },
  other: { label: 'Other values', tone: 'bad', icon: CircleX },
  none: { label: 'No answer', tone: 'warn', icon: CircleX },
}

function Servers({ change: { progress } }: { change: PlannedChange }) {
  const { servers, checked } = progress!
  return (
    <>
      <DataTable
        label="Servers"
        columns={SERVER_COLUMNS}
        rows={servers}
        rowId={({ kind, server }) => `${kind} ${server}`}
      />
      <p className="border-t border-line px-4 py-2 text-xs text-faint">
        Checked <Time at={checked} />.
      </p>
    </>
  )
}

const SERVER_COLUMNS: Column<Server>[] = [
  {
    id: 'server',
    header: 'Server',
    meta: { cellClassName: 'min-w-0' },
    cell: rowCell(({ kind, server }) => (
      <>
        <p className="font-mono text-sm break-all">{server}</p>
        <p className="text-xs text-faint">{kind === 'name_server' ? 'Name server' : 'Resolver'}</p>
      </>
    )),
  },
  {
    id: 'answer',
    header: 'Answers',
    cell: rowCell(({ answer }) => (
      <Badge
        tone={ANSWER_DISPLAY[answer].tone}
        icon={ANSWER_DISPLAY[answer].icon}
        label={ANSWER_DISPLAY[answer].label}
      />
    )),
  },
  {
    id: 'values',
    header: 'Values',
    meta: { className: 'hidden sm:table-cell' },
    cell: ({ row }) => <Code className="break-all">{row.original.values.join(', ')}</Code>,
  },
  {
    id: 'ttl',
    header: 'TTL',
    meta: { className: 'hidden md:table-cell', cellClassName: 'whitespace-nowrap text-soft' },
    cell: rowCell(({ ttl }) => (ttl === null ? '–' : `${ttl} s`)),
  },
]
