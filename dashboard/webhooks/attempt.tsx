import { Collapsible } from '@base-ui/react/collapsible'
import { ChevronRight, CircleCheck, OctagonX } from 'lucide-react'
import { useState } from 'react'
import { visible, visibleLines } from '#contract/visible-text.ts'
import { cx } from '../ui/class-names.ts'
import { Spinner } from '../ui/spinner.tsx'
import { Time } from '../ui/time.tsx'
import { msText, phasesOf } from './timings.ts'
import type { Attempt } from './use-awaited-attempt.ts'

/** Result, timings and response of an attempt. Use `showsResult` false where the result is already shown. */
export function AttemptDetails({ attempt, showsResult = true }: { attempt: Attempt; showsResult?: boolean }) {
  const { status_code, error, response_body, timings } = attempt
  return (
    <div className="grid gap-x-8 gap-y-4 md:grid-cols-[minmax(0,5fr)_minmax(0,6fr)]">
      <div className="flex flex-col gap-3">
        {showsResult && <AttemptResult attempt={attempt} />}
        {error && <p className="text-sm break-words text-soft">{visible(capitalize(error))}.</p>}
        <TimingBars timings={timings} />
      </div>
      <div className="min-w-0">
        <h3 className="mb-1 text-xs text-faint">Response</h3>
        {response_body === null || response_body === '' ? (
          <p className="text-sm text-faint">{status_code === null ? 'No response.' : 'Empty body.'}</p>
        ) : (
          <RawText label="Response body">{response_body}</RawText>
        )}
      </div>
    </div>
  )
}

function AttemptResult({ attempt: { status_code, error, timings } }: { attempt: Attempt }) {
  const isDelivered = error === null
  const Icon = isDelivered ? CircleCheck : OctagonX
  return (
    <p className={cx('flex items-center gap-2 font-medium', isDelivered ? 'text-good' : 'text-bad')}>
      <Icon className="size-4 shrink-0" strokeWidth={2.25} aria-hidden="true" />
      {isDelivered ? 'Delivered' : 'Failed'}
      <span className="text-sm font-normal text-soft tabular-nums">
        {status_code === null ? 'no response' : `HTTP ${status_code}`}
        {timings.totalMs !== undefined && ` in ${msText(timings.totalMs)}`}
      </span>
    </p>
  )
}

/** One bar for each phase, along a common time axis. */
function TimingBars({ timings }: { timings: Readonly<Record<string, number>> }) {
  const { phases, total } = phasesOf(timings)
  if (phases.length === 0) return null
  const percent = (ms: number) => `${(100 * ms) / Math.max(total, 1)}%`
  return (
    <dl className="grid grid-cols-[5rem_minmax(4rem,1fr)_auto] items-center gap-x-3 gap-y-1 text-xs">
      {phases.map(({ name, from, ms }) => (
        <div key={name} className="contents">
          <dt className="text-faint">{name}</dt>
          <dd className="relative h-2 rounded-full bg-sunken" aria-hidden="true">
            <span
              className="absolute inset-y-0 min-w-0.5 rounded-full bg-accent"
              style={{ left: percent(from), width: percent(ms) }}
            />
          </dd>
          <dd className="text-right text-soft tabular-nums">{msText(ms)}</dd>
        </div>
      ))}
    </dl>
  )
}

/** Scrollable raw text. */
export const RawText = ({ children, label }: { children: string; label: string }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
  <section tabIndex={0} aria-label={label} className="max-h-56 overflow-auto rounded-md bg-sunken px-3 py-2">
    <pre className="font-mono text-xs leading-5 break-words whitespace-pre-wrap">{visibleLines(children)}</pre>
  </section>
)

export const capitalize = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1)

/** Newest first; the newest is open. */
export function Attempts({ attempts, isRunning }: { attempts: readonly Attempt[]; isRunning: boolean }) {
  const count = attempts.at(-1)?.number ?? 0
  return (
    <section>
      <h3 className="mb-2 text-sm font-semibold">
        Attempts{' '}
        <span className="font-normal text-faint tabular-nums">
          {count.toLocaleString()}
          {count > attempts.length && `, latest ${attempts.length} shown`}
        </span>
      </h3>
      <div className="divide-y divide-line rounded-md border border-line">
        {isRunning && (
          <p className="flex items-center gap-2 px-3 py-2.5 text-sm text-soft">
            <Spinner /> An attempt is in progress.
          </p>
        )}
        {attempts.length === 0 && !isRunning && <p className="px-3 py-2.5 text-sm text-faint">No attempts yet.</p>}
        {attempts.toReversed().map((attempt, index) => (
          <AttemptRow key={attempt.number} attempt={attempt} isNewest={index === 0} />
        ))}
      </div>
    </section>
  )
}

function AttemptRow({ attempt, isNewest }: { attempt: Attempt; isNewest: boolean }) {
  const [isOpen, setOpen] = useState(isNewest)
  const { number, attempted, status_code, error, timings } = attempt
  const Icon = error === null ? CircleCheck : OctagonX
  return (
    <Collapsible.Root open={isOpen} onOpenChange={setOpen}>
      <Collapsible.Trigger className="group flex w-full items-center gap-2.5 px-3 py-2 text-left text-sm hover:bg-sunken">
        <ChevronRight
          className="size-4 shrink-0 text-faint transition-transform duration-100 group-data-[panel-open]:rotate-90"
          aria-hidden="true"
        />
        <span className="w-6 text-faint tabular-nums">{number}</span>
        <Icon
          className={error === null ? 'size-4 shrink-0 text-good' : 'size-4 shrink-0 text-bad'}
          strokeWidth={2.25}
          role="img"
          aria-label={error === null ? 'delivered' : 'failed'}
        />
        <span className="min-w-0 flex-1 truncate tabular-nums">
          {status_code === null ? visible(error ?? 'no response') : `HTTP ${status_code}`}
        </span>
        {timings.totalMs !== undefined && (
          <span className="text-xs text-faint tabular-nums">{msText(timings.totalMs)}</span>
        )}
        <span className="text-xs text-faint">
          <Time at={attempted} />
        </span>
      </Collapsible.Trigger>
      <Collapsible.Panel className="border-t border-line px-3 py-3.5">
        <AttemptDetails attempt={attempt} showsResult={false} />
      </Collapsible.Panel>
    </Collapsible.Root>
  )
}
