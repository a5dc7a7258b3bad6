import { Check } from 'lucide-react'
import type { ChangeEvent } from 'react'
import type { MonitorResponse } from '#contract/monitors.ts'
import { cx } from '../ui/class-names.ts'
import { fullTime, relativeTime } from '../ui/time.tsx'
import { type Short, valueLine } from './list-value.ts'

/** The owner: the part before the domain is what tells the names of one domain apart. */
export function Name({ monitor: { subdomain, domain } }: { monitor: MonitorResponse }) {
  return (
    <span className="font-mono text-[0.95em]">
      {subdomain && <span className="font-medium text-ink">{subdomain}</span>}
      <span className={subdomain ? 'text-faint' : 'font-medium text-ink'}>
        {subdomain && '.'}
        {domain}
      </span>
    </span>
  )
}

/** What is expected and, below it, what was found instead. */
export function Values({ monitor }: { monitor: MonitorResponse }) {
  const { expected, found } = valueLine(monitor)
  if (!found) return <Line short={expected} />
  return (
    <span className="block text-xs">
      <span className="flex gap-1.5 text-faint">
        <span className="w-13 shrink-0">Expected</span> <Line short={expected} />
      </span>
      <span className="flex gap-1.5 text-bad">
        <span className="w-13 shrink-0">Found</span>
        {found === 'nothing' ? 'nothing' : <Line short={found} />}
      </span>
    </span>
  )
}

const Line = ({ short: { value, more } }: { short: Short }) => (
  <span className="flex min-w-0 gap-1.5">
    <span className="truncate font-mono text-[0.95em]">{value}</span>
    {more > 0 && <span className="shrink-0 text-faint tabular-nums">+{more}</span>}
  </span>
)

/** Lighter than Time, for very many rows: the exact instants are the title's. `now` is the table's. */
export function Since({ at, now }: { at: string | null; now: number }) {
  if (at === null) return <span className="text-faint">never</span>
  const instant = Date.parse(at)
  return (
    <time
      dateTime={at}
      title={`${fullTime(at)} · ${at.replace('T', ' ').replace('Z', '')} UTC`}
      className="whitespace-nowrap"
    >
      {relativeTime(instant, Math.max(now, instant))}
    </time>
  )
}

type TickProps = {
  label: string
  isOn: boolean
  isSome?: boolean
  cell?: string
  onChange: (event: ChangeEvent<HTMLInputElement>) => void
}

/** Lighter than Checkbox, for very many rows. */
export function Tick({ label, isOn, isSome, cell, onChange }: TickProps) {
  const LogoMark = isSome ? <span className="h-0.5 w-2 bg-current" /> : <Check className="size-3" strokeWidth={3.5} />
  return (
    <label className="relative grid size-8 cursor-pointer place-items-center">
      <input
        type="checkbox"
        aria-label={label}
        checked={isOn}
        data-cell={cell}
        ref={(box) => {
          if (box) box.indeterminate = isSome ?? false
        }}
        onChange={onChange}
        // Shift and a press would mark the text between.
        onMouseDown={(event) => event.shiftKey && event.preventDefault()}
        className={cx(
          'size-4 cursor-pointer appearance-none rounded-sm border',
          isOn || isSome ? 'border-accent bg-accent' : 'border-edge bg-surface',
        )}
      />
      {(isOn || isSome) && (
        <span className="pointer-events-none absolute inset-0 grid place-items-center text-on-accent">{LogoMark}</span>
      )}
    </label>
  )
}
