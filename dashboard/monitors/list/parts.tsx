import { Check } from 'lucide-react'
import type { ChangeEvent } from 'react'
import type { MonitorResponse } from '#contract/monitors.ts'
import { visible } from '#contract/visible-text.ts'
import { cx } from '../../ui/class-names.ts'
import { fullTime, relativeTime } from '../../ui/time.tsx'
import { type ShortValue, valueLine } from './value.ts'

/** The owner name, with the subdomain emphasized. */
export function Name({ monitor: { subdomain, domain } }: { monitor: MonitorResponse }) {
  return (
    <span className="font-mono text-[0.95em]">
      {subdomain && <span className="font-medium text-ink">{subdomain}</span>}
      <span className={subdomain ? 'text-faint' : 'font-medium text-ink'}>
        {subdomain && domain !== '.' && '.'}
        {subdomain && domain === '.' ? null : domain}
      </span>
    </span>
  )
}

/** The expected values and, below them, the ones found instead. */
export function Values({ monitor }: { monitor: MonitorResponse }) {
  const { expected, found } = valueLine(monitor)
  if (!found) return <ValueSummary short={expected} />
  return (
    <span className="block text-xs">
      <span className="flex gap-1.5 text-faint">
        <span className="w-13 shrink-0">Expected</span> <ValueSummary short={expected} />
      </span>
      <span className="flex gap-1.5 text-bad">
        <span className="w-13 shrink-0">Found</span>
        {found === 'nothing' ? 'nothing' : <ValueSummary short={found} />}
      </span>
    </span>
  )
}

const ValueSummary = ({ short: { value, more } }: { short: ShortValue }) => (
  <span className="flex min-w-0 gap-1.5">
    <span className="truncate font-mono text-[0.95em]">{visible(value)}</span>
    {more > 0 && <span className="shrink-0 text-faint tabular-nums">+{more}</span>}
  </span>
)

/** A lightweight Time for long lists. The tooltip has the exact time. */
export function TimeAgo({ at, now, isLate = false }: { at: string | null; now: number; isLate?: boolean }) {
  if (at === null) return <span className="text-faint">never</span>
  const instant = Date.parse(at)
  return (
    <time
      dateTime={at}
      title={`${fullTime(at)} · ${at.replace('T', ' ').replace('Z', '')} UTC`}
      className={cx('whitespace-nowrap', isLate && 'text-warn')}
    >
      {relativeTime(instant, Math.max(now, instant))}
      {isLate && ', late'}
    </time>
  )
}

type LightCheckboxProps = {
  label: string
  isOn: boolean
  isIndeterminate?: boolean
  cell?: string
  onChange: (event: ChangeEvent<HTMLInputElement>) => void
}

/** A lightweight Checkbox for long lists. */
export function LightCheckbox({ label, isOn, isIndeterminate, cell, onChange }: LightCheckboxProps) {
  const mark = isIndeterminate ? (
    <span className="h-0.5 w-2 bg-current" />
  ) : (
    <Check className="size-3" strokeWidth={3.5} />
  )
  return (
    <label className="relative grid size-8 cursor-pointer place-items-center">
      <input
        type="checkbox"
        aria-label={label}
        checked={isOn}
        data-cell={cell}
        ref={(box) => {
          if (box) box.indeterminate = isIndeterminate ?? false
        }}
        onChange={onChange}
        // Shift and a click would select the text between.
        onMouseDown={(event) => event.shiftKey && event.preventDefault()}
        className={cx(
          'size-4 cursor-pointer appearance-none rounded-sm border',
          isOn || isIndeterminate ? 'border-accent bg-accent' : 'border-edge bg-surface',
        )}
      />
      {(isOn || isIndeterminate) && (
        <span className="pointer-events-none absolute inset-0 grid place-items-center text-on-accent">{mark}</span>
      )}
    </label>
  )
}
