import { ArrowRight, Minus, Plus } from 'lucide-react'
import type { Event } from '#contract/events.ts'
import { visible } from '#contract/visible-text.ts'
import { cx } from '../ui/class-names.ts'
import { State } from '../ui/state.tsx'
import { diffOf, type MarkedValue } from './value-diff.ts'
import { ValueText } from './value-text.tsx'

type Changed = Pick<Event, 'old_state' | 'new_state' | 'timed_out'>

/** The old and the new state, or one state for first results and for changes of values only. */
export function StateChange({ event, isLarge }: { event: Changed; isLarge?: boolean }) {
  const size = isLarge ? 'text-sm' : 'text-xs'
  const note = noteOf(event)
  if (note !== undefined) {
    return (
      <span className={cx('inline-flex flex-wrap items-center gap-x-2', size)}>
        <State state={event.new_state} />
        <span className="text-faint">{note}</span>
      </span>
    )
  }
  return (
    <span className={cx('inline-flex flex-wrap items-center gap-x-2 gap-y-0.5', size)}>
      <State state={event.old_state} />
      <ArrowRight className="size-3.5 text-faint" aria-label="to" role="img" />
      <State state={event.new_state} />
    </span>
  )
}

function noteOf({ old_state, new_state, timed_out }: Changed): string | undefined {
  if (timed_out) return 'not found in time'
  if (old_state === 'UNSET') return 'first result'
  return old_state === new_state ? 'other values' : undefined
}

/** The changed values. `maxLines` limits the list. */
export function ValueDiff({
  event,
  maxLines,
}: {
  event: Pick<Event, 'previous_value' | 'current_value'>
  maxLines?: number
}) {
  const lines = diffOf(event.previous_value, event.current_value)
  if (lines === undefined) return <p className="text-xs text-faint">Values unknown.</p>
  if (lines.length === 0) {
    return (
      <p className="text-xs text-faint">
        {event.previous_value === undefined ? 'No records.' : 'No records, before and after.'}
      </p>
    )
  }
  const shown = lines.slice(0, maxLines)
  return (
    <ul className="flex min-w-0 flex-col gap-0.5">
      {shown.map((line) => (
        <li key={`${line.mark} ${line.value}`}>
          <DiffLine line={line} isCut={maxLines !== undefined} />
        </li>
      ))}
      {lines.length > shown.length && <li className="text-xs text-faint">and {lines.length - shown.length} more</li>}
    </ul>
  )
}

const MARKS = {
  added: { label: 'added', icon: Plus, className: 'text-ink' },
  removed: { label: 'removed', icon: Minus, className: 'text-faint' },
  kept: { label: 'unchanged', icon: undefined, className: 'text-faint' },
} as const

function DiffLine({ line: { value, mark, parts }, isCut }: { line: MarkedValue; isCut: boolean }) {
  const { label, icon: Icon, className } = MARKS[mark]
  return (
    <span className={cx('flex items-start gap-1.5 font-mono text-xs', className)}>
      <span className="mt-[3px] grid size-3 shrink-0 place-items-center">
        {Icon && <Icon className="size-3" strokeWidth={2.5} aria-hidden="true" />}
        <span className="sr-only">{label}:</span>
      </span>
      <span className={cx('min-w-0', isCut && 'line-clamp-2')} title={isCut ? visible(value) : undefined}>
        <ValueText value={value} parts={parts} />
      </span>
    </span>
  )
}
