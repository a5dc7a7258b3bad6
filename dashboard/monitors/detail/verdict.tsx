import { useInfiniteQuery } from '@tanstack/react-query'
import { Minus, Plus, TriangleAlert } from 'lucide-react'
import { lazy, Suspense, useState } from 'react'
import type { Acceptance } from '#contract/dashboard.ts'
import type { Diagnosis } from '#contract/diagnosis.ts'
import { visible } from '#contract/visible-text.ts'
import { recordName } from '#contract/wording.ts'
import { api } from '../../api.ts'
import { ValueDiff } from '../../events/event-change.tsx'
import { ValueText } from '../../events/value-text.tsx'
import { useSession } from '../../session.tsx'
import { Button } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { Code } from '../../ui/page.tsx'
import { Spinner } from '../../ui/spinner.tsx'
import { STATE_DISPLAY, State, stateTitle } from '../../ui/state.tsx'
import { Time } from '../../ui/time.tsx'
import { useToast } from '../../ui/toast.tsx'
import { Tooltip } from '../../ui/tooltip.tsx'
import { historyQuery, type MonitorDetails, useRefresh } from '../queries.ts'
import { stateNote } from '../state-note.ts'
import { shownAdvice } from './advice.ts'
import type { Checking } from './checking.ts'

const PlanDialog = lazy(async () => ({ default: (await import('../../planned-changes/dialog.tsx')).PlanDialog }))

type VerdictProps = { monitor: MonitorDetails; checking: Checking }

/** The state, its reason, and what to do. */
export function MonitorVerdict({ monitor, checking }: VerdictProps) {
  const { state, diagnosis, is_active } = monitor
  const since = useSince(monitor)
  const note = stateNote(monitor, Date.now())
  return (
    <section
      aria-label="Verdict"
      className="grid rounded-lg border border-line bg-surface lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]"
    >
      <div className="flex min-w-0 flex-col gap-2 p-5">
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <Tooltip text={stateTitle(state)}>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users need the tooltip */}
            <span className="rounded-sm text-base" tabIndex={0} aria-description={stateTitle(state)}>
              <State state={state} hasTitle={false} note={note} />
            </span>
          </Tooltip>
          {since && (
            <span className="text-xs text-faint">
              since <Time at={since} isExact />
            </span>
          )}
          <CheckingNote phase={checking.phase} state={state} />
        </div>
        {note && <p className="text-sm text-soft">{note}</p>}
        <h2 className="max-w-prose text-lg font-medium break-words text-pretty" title={diagnosis?.verdict.code}>
          {diagnosis?.reason ?? STATE_DISPLAY[state].meaning}
        </h2>
        {diagnosis && <p className="max-w-prose text-sm text-faint">{diagnosis.decided}</p>}
        {diagnosis?.pending && <PendingNote diagnosis={diagnosis} />}
        {diagnosis && diagnosis.warnings.length > 0 && <Warnings warnings={diagnosis.warnings} />}
        {!is_active && state !== 'UNSET' && (
          <p className="text-sm text-soft">
            The result of the last check. The monitor is disabled: no checks run and no alerts are sent.
          </p>
        )}
      </div>
      <AdvicePanel monitor={monitor} />
    </section>
  )
}

/** Why the latest check is not a verdict yet, and when the next one comes. */
function PendingNote({ diagnosis: { verdict, latest, next_at } }: { diagnosis: Diagnosis }) {
  return (
    <p className="max-w-prose text-sm text-soft">
      {verdict.code !== 'not_certain' && <>The latest check is not certain yet. {latest?.decided}</>}
      {next_at && (
        <>
          {' '}
          The next query is due <Time at={next_at} />.
        </>
      )}
    </p>
  )
}

function Warnings({ warnings }: Pick<Diagnosis, 'warnings'>) {
  return (
    <ul aria-label="Warnings" className="flex max-w-prose flex-col gap-1 text-sm text-soft">
      {warnings.map(({ code, text }) => (
        <li key={code} className="flex items-start gap-2" title={code}>
          <TriangleAlert className="mt-0.5 size-4 shrink-0 text-warn" aria-hidden="true" />
          <span className="min-w-0 break-words">{text}</span>
        </li>
      ))}
    </ul>
  )
}

const MAX_RECORDS = 5

function AdvicePanel({ monitor }: Pick<VerdictProps, 'monitor'>) {
  const { can } = useSession()
  const { title, steps, add, remove } = shownAdvice(monitor)
  const changes = [
    ...remove.map((value) => ({ label: 'Remove', value, icon: Minus })),
    ...add.map((value) => ({ label: 'Add', value, icon: Plus })),
  ]
  return (
    <div className="flex min-w-0 flex-col gap-2 border-t border-line p-5 lg:border-t-0 lg:border-l">
      <h3 className="text-sm font-semibold">{title}</h3>
      <div className="flex flex-col gap-1.5 text-sm text-soft">
        {steps.map((step) => (
          <p key={step} className="break-words">
            {step}
          </p>
        ))}
      </div>
      {changes.length > 0 && (
        <ul className="mt-1 flex flex-col gap-1">
          {changes.slice(0, MAX_RECORDS).map(({ label, value, icon }) => (
            <RecordChange key={`${label} ${value}`} label={label} value={value} icon={icon} />
          ))}
          {changes.length > MAX_RECORDS && (
            <li className="text-xs text-faint">and {changes.length - MAX_RECORDS} more in the table below.</li>
          )}
        </ul>
      )}
      {monitor.state === 'MISMATCH' && can('write') && (
        <div className="mt-1 flex flex-wrap items-center gap-x-3 gap-y-1.5 text-sm text-soft">
          <AcceptButton monitor={monitor} />
          <PlanButton monitor={monitor} />
        </div>
      )}
    </div>
  )
}

function RecordChange({ label, value, icon: Icon }: { label: string; value: string; icon: typeof Plus }) {
  return (
    <li className="flex items-start gap-2 rounded-md bg-sunken py-0.5 pr-0.5 pl-2.5">
      <span className="flex w-17 shrink-0 items-center gap-1.5 py-1 text-xs font-medium">
        <Icon className="size-3.5" strokeWidth={2.5} aria-hidden="true" /> {label}
      </span>
      <span className="min-w-0 flex-1 py-1 font-mono text-xs">
        <ValueText value={value} />
      </span>
      <CopyButton text={value} label={`Copy ${visible(value)}`} />
    </li>
  )
}

function PlanButton({ monitor }: Pick<VerdictProps, 'monitor'>) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <Button size="sm" onClick={() => setOpen(true)}>
        Plan a change
      </Button>
      <Suspense>{isOpen && <PlanDialog monitor={monitor} onClose={() => setOpen(false)} />}</Suspense>
    </>
  )
}

function CheckingNote({ phase, state }: { phase: Checking['phase']; state: MonitorDetails['state'] }) {
  return (
    <span role="status" className="inline-flex items-center gap-1.5 text-xs text-faint">
      {phase === 'checking' && (
        <>
          <Spinner /> Checking …
        </>
      )}
      {phase === 'done' && `Checked just now: ${STATE_DISPLAY[state].label}.`}
      {phase === 'slow' && 'Name servers answer slowly or disagree. The result appears here once it is confirmed.'}
    </span>
  )
}

/** When the monitor entered its state, if the loaded events have it. */
function useSince({ id, state }: MonitorDetails): string | undefined {
  const { data } = useInfiniteQuery(historyQuery(id))
  const events = data?.pages.flatMap((page) => page.data) ?? []
  if (events[0]?.new_state !== state) return undefined
  return events.find(({ old_state, new_state }) => new_state === state && old_state !== state)?.occurred
}

/** Replaces the expected values by the current ones. Nothing without current values. */
export function AcceptButton({ monitor }: { monitor: MonitorDetails }) {
  const [isOpen, setOpen] = useState(false)
  const refresh = useRefresh()
  const toast = useToast()
  const { id, current_value, expected_value, record_type } = monitor
  if (!current_value || current_value.length === 0) return null
  const accept = async () => {
    const seen: Acceptance = { current_value }
    await api.post(`/dashboard/api/accept/${encodeURIComponent(id)}`, seen)
    await refresh()
    toast.done('Accepted. Zonewatch is checking the record now.')
  }
  return (
    <>
      <Button size="sm" onClick={() => setOpen(true)}>
        Accept current values
      </Button>
      <Confirm
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        title="Accept the current values?"
        confirmLabel="Accept"
        onConfirm={accept}
      >
        <p className="mb-2">
          The expected values of <Code>{recordName(monitor)}</Code> {record_type} change to:
        </p>
        <div className="rounded-md bg-sunken px-3 py-2 text-left">
          <ValueDiff event={{ previous_value: expected_value, current_value }} />
        </div>
        <p className="mt-2">Zonewatch then checks the monitor at once. You can edit the expected values at any time.</p>
      </Confirm>
    </>
  )
}
