import { CircleCheck, OctagonX } from 'lucide-react'
import { cx } from '../ui/class-names.ts'
import { msText, phasesOf } from './timings.ts'
import type { Attempt } from './use-outcome.ts'

/** One attempt: its result, its timings and the response. `hasVerdict` false: the result is shown above. */
export function AttemptDetails({ attempt, hasVerdict = true }: { attempt: Attempt; hasVerdict?: boolean }) {
  const { status_code, error, response_body, timings } = attempt
  return (
    <div className="grid gap-x-8 gap-y-4 md:grid-cols-[minmax(0,5fr)_minmax(0,6fr)]">
      <div className="flex flex-col gap-3">
        {hasVerdict && <Verdict attempt={attempt} />}
        {error && <p className="text-sm break-words text-soft">{firstUpper(error)}.</p>}
        <TimingBars timings={timings} />
      </div>
      <div className="min-w-0">
        <h3 className="mb-1 text-xs text-faint">Response</h3>
        {response_body === null || response_body === '' ? (
          <p className="text-sm text-faint">{status_code === null ? 'No response.' : 'Empty body.'}</p>
        ) : (
          <Text label="Response body">{response_body}</Text>
        )}
      </div>
    </div>
  )
}

function Verdict({ attempt: { status_code, error, timings } }: { attempt: Attempt }) {
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

/** Where the time went, one bar a phase, each beginning where the one before ended. */
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

/** What somebody else wrote, as it came. */
export const Text = ({ children, label }: { children: string; label: string }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
  <section tabIndex={0} aria-label={label} className="max-h-56 overflow-auto rounded-md bg-sunken px-3 py-2">
    <pre className="font-mono text-xs leading-5 break-words whitespace-pre-wrap">{children}</pre>
  </section>
)

export const firstUpper = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1)
