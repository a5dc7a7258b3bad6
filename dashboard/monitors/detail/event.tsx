import { useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { plural, recordName } from '#contract/wording.ts'
import { StateChange, ValueDiff } from '../../events/event-change.tsx'
import { ValueText } from '../../events/value-text.tsx'
import { Button } from '../../ui/button.tsx'
import { cx } from '../../ui/class-names.ts'
import { CopyButton } from '../../ui/copy.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Code, Fact, Facts, Skeleton } from '../../ui/page.tsx'
import { ProblemPage } from '../../ui/problem.tsx'
import { Time } from '../../ui/time.tsx'
import { type EventDetails, eventBeforeQuery, eventQuery } from '../queries.ts'
import { EvidenceDate } from './evidence-date.tsx'

const DelegationPicture = lazy(async () => ({ default: (await import('./delegation.tsx')).DelegationPicture }))
const Evidence = lazy(async () => ({ default: (await import('./evidence.tsx')).Evidence }))

/** The event of the URL parameter `event`, with its evidence. */
export function MonitorEvent({ monitor }: { monitor: string }) {
  const { event: id } = useSearch({ from: '/signed-in/monitors/$monitor' })
  const navigate = useNavigate({ from: '/monitors/$monitor' })
  const { data: event, error, refetch } = useQuery({ ...eventQuery(monitor, id ?? ''), enabled: id !== undefined })
  const close = () =>
    void navigate({ search: ({ range }) => (range ? { range } : {}), replace: true, resetScroll: false })
  return (
    <Dialog
      isOpen={id !== undefined}
      onClose={close}
      isWide
      title="Event"
      description={
        event && (
          <>
            Confirmed <Time at={event.occurred} isExact />
          </>
        )
      }
      footer={id && <CopyButton text={location.href} label="Copy link" hasLabel />}
    >
      {event ? (
        <Details event={event} />
      ) : error ? (
        <ProblemPage problem={error} onRetry={() => void refetch()} />
      ) : (
        <Skeleton lines={6} />
      )}
    </Dialog>
  )
}

function Details({ event }: { event: EventDetails }) {
  const { diagnosis, domain, incidence_count, occurred } = event
  return (
    <div className="flex flex-col gap-5">
      <div className="flex flex-col gap-1.5">
        <StateChange event={event} isLarge />
        {diagnosis && (
          <p className="text-base font-medium break-words" title={diagnosis.verdict.code}>
            {diagnosis.reason}
          </p>
        )}
        {diagnosis && <p className="text-sm text-faint">{diagnosis.decided}</p>}
      </div>
      <Facts>
        <Fact name="Values">
          <ValueDiff event={event} />
        </Fact>
        <Fact name="Expected at that time">
          {domain.expected_value.map((value) => (
            <p key={value} className="font-mono text-xs leading-5">
              <ValueText value={value} />
            </p>
          ))}
          <span className="text-xs text-faint">{domain.is_exact_match ? 'Exact match' : 'Flexible match'}</span>
        </Fact>
        <Fact name="Checks">
          {plural(incidence_count, 'First check in this state', (number) => `${number} checks in a row in this state`)}
        </Fact>
        <Fact name="Event">
          <Code className="text-xs">{event.id}</Code>
        </Fact>
      </Facts>
      {diagnosis?.delegation && <EventDelegation event={event} />}
      <div>
        <h3 className="text-sm font-semibold">Evidence</h3>
        {diagnosis && (
          <p className="text-xs text-faint">
            <EvidenceDate at={diagnosis.at ?? occurred} />
          </p>
        )}
        {diagnosis ? (
          <div className="mt-2 rounded-md border border-line">
            <Suspense fallback={<Skeleton lines={4} className="p-4" />}>
              <Evidence paths={diagnosis.paths} />
            </Suspense>
          </div>
        ) : (
          <p className="text-sm text-faint">No evidence is stored for this event.</p>
        )}
      </div>
    </div>
  )
}

const SIDES = { before: 'Before', after: 'After' } as const
type Side = keyof typeof SIDES

/** The delegation and the answers at the event, and at the one before. */
function EventDelegation({ event }: { event: EventDetails }) {
  const [side, setSide] = useState<Side>('after')
  const { data: before } = useQuery(eventBeforeQuery(event.monitor_id, event))
  const hasBefore = before?.diagnosis?.delegation !== undefined
  const shown = side === 'before' && hasBefore ? before : event
  return (
    <div>
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h3 className="text-sm font-semibold">Delegation</h3>
        {hasBefore && (
          <fieldset aria-label="Moment" className="flex gap-0.5 rounded-md bg-sunken p-0.5">
            {(Object.keys(SIDES) as Side[]).map((option) => (
              <Button
                key={option}
                size="sm"
                variant="quiet"
                aria-pressed={option === side}
                onClick={() => setSide(option)}
                className={cx(option === side && 'bg-surface !text-ink shadow-[0_0_0_1px_var(--line)]')}
              >
                {SIDES[option]}
              </Button>
            ))}
          </fieldset>
        )}
      </div>
      <p className="text-xs text-faint">
        <EvidenceDate at={shown.diagnosis?.at ?? shown.occurred} />
      </p>
      <div className="mt-2 rounded-md border border-line">
        <Suspense fallback={<Skeleton lines={4} className="p-4" />}>
          <DelegationPicture
            evidence={shown.diagnosis!}
            name={recordName(shown.domain)}
            isValid={shown.new_state === 'VALID'}
            warnings={shown.diagnosis!.warnings}
          />
        </Suspense>
      </div>
    </div>
  )
}
