import { useQuery } from '@tanstack/react-query'
import { CalendarClock, CircleCheck, CircleDashed, CircleX, Wrench } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import type { PlannedChange } from '#contract/planned-changes.ts'
import { changeOfMonitorQuery, windowsOfMonitorQuery } from '../alerts/queries.ts'
import { api } from '../api.ts'
import { useSession } from '../session.tsx'
import { Button } from '../ui/button.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { Code, Section } from '../ui/page.tsx'
import { Badge, type Tone } from '../ui/state.tsx'
import { type Column, DataTable } from '../ui/table.tsx'
import { Time } from '../ui/time.tsx'
import { useToast } from '../ui/toast.tsx'
import type { MonitorDetails } from './monitor-queries.ts'
import { useRefresh } from './monitor-queries.ts'

const PlanDialog = lazy(async () => ({ default: (await import('./monitor-plan-dialog.tsx')).PlanDialog }))

/** Nothing while no maintenance window includes the monitor. */
export function MaintenanceNote({ monitor }: { monitor: MonitorDetails }) {
  const { data: page } = useQuery(windowsOfMonitorQuery(monitor.id))
  const [window] = page?.data ?? []
  if (!window) return null
  const until = window.occurrences[0]!.to
  return (
    <p role="status" className="flex gap-2.5 rounded-md bg-warn-wash px-3 py-2.5 text-sm text-warn">
      <Wrench className="mt-0.5 size-4 shrink-0" aria-hidden="true" />
      <span>
        Maintenance: {window.name}. Alerts of this monitor wait until <Time at={until} isExact />.
      </span>
    </p>
  )
}

const OPEN = ['SCHEDULED', 'IN_PROGRESS']

const LOOKS: Record<PlannedChange['state'], { word: string; tone: Tone; icon: typeof CircleCheck }> = {
  SCHEDULED: { word: 'Scheduled', tone: 'idle', icon: CalendarClock },
  IN_PROGRESS: { word: 'In progress', tone: 'warn', icon: CircleDashed },
  DONE: { word: 'Done', tone: 'good', icon: CircleCheck },
  NOT_ARRIVED: { word: 'Not arrived', tone: 'bad', icon: CircleX },
  CANCELED: { word: 'Canceled', tone: 'idle', icon: CircleX },
}

export function ChangeState({ state }: Pick<PlannedChange, 'state'>) {
  const { word, tone, icon } = LOOKS[state]
  return (
    <Badge tone={tone} icon={icon}>
      {word}
    </Badge>
  )
}

/** For how long a closed change is shown on the page of its monitor. */
const SHOWN_MS = 24 * 60 * 60_000

/** The planned change of a monitor, while it is open and for a day after. */
export function MonitorPlanned({ monitor }: { monitor: MonitorDetails }) {
  const { can } = useSession()
  const { data: change } = useQuery(changeOfMonitorQuery(monitor.id))
  const [open, setOpen] = useState<'edit' | 'delete'>()
  const refresh = useRefresh()
  const toast = useToast()
  if (!change) return null
  const isOpen = OPEN.includes(change.state)
  if (!isOpen && (change.state === 'CANCELED' || Date.now() - Date.parse(change.closed!) > SHOWN_MS)) return null
  const remove = async () => {
    await api.delete(`/planned-changes/${change.id}`)
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
        The monitor expects the old values again. If the record has moved already, it fails.
      </Confirm>
    </Section>
  )
}

function Summary({ change: { old_value, new_value, from, to, state, progress } }: { change: PlannedChange }) {
  return (
    <>
      <Code>{old_value.join(', ')}</Code> → <Code>{new_value.join(', ')}</Code>, from <Time at={from} isExact /> to{' '}
      <Time at={to} isExact />.{state === 'IN_PROGRESS' && <Caches progress={progress} />}
      {state === 'NOT_ARRIVED' && ' The new values are expected now and have not arrived.'}
    </>
  )
}

function Caches({ progress }: Pick<PlannedChange, 'progress'>) {
  if (!progress) return null
  if (progress.caches_until === null) return ' Not every name server answers the new values yet.'
  return (
    <>
      {' '}
      The old values expire in the last cache at <Time at={progress.caches_until} isExact />.
    </>
  )
}

type Server = NonNullable<PlannedChange['progress']>['servers'][number]
type Answer = Server['answer']

const ANSWERS: Record<Answer, { word: string; tone: Tone; icon: typeof CircleCheck }> = {
  new: { word: 'New values', tone: 'good', icon: CircleCheck },
  old: { word: 'Old values', tone: 'idle', icon: CircleDashed },
  mixed: { word: 'Both', tone: 'warn', icon: CircleDashed },
  other: { word: 'Other values', tone: 'bad', icon: CircleX },
  none: { word: 'No answer', tone: 'warn', icon: CircleX },
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
    cell: ({
      row: {
        original: { kind, server },
      },
    }) => (
      <>
        <p className="font-mono text-sm break-all">{server}</p>
        <p className="text-xs text-faint">{kind === 'name_server' ? 'Name server' : 'Resolver'}</p>
      </>
    ),
  },
  {
    id: 'answer',
    header: 'Answers',
    cell: ({
      row: {
        original: { answer },
      },
    }) => (
      <Badge tone={ANSWERS[answer].tone} icon={ANSWERS[answer].icon}>
        {ANSWERS[answer].word}
      </Badge>
    ),
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
    cell: ({
      row: {
        original: { ttl },
      },
    }) => (ttl === null ? '–' : `${ttl} s`),
  },
]
