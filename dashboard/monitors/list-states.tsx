import { PauseCircle } from 'lucide-react'
import type { ReactNode } from 'react'
import type { MonitorCounts } from '#contract/monitor-list.ts'
import { cx } from '../ui/class-names.ts'
import { STATE_DISPLAY, STATES, StateIcon, stateTitle } from '../ui/state.tsx'
import { type ListSearch, severalOf, withStates } from './list-query.ts'

// The contract's own constant would bring its schemas into the page.
const MOST_COUNTED = 5_000

type StatesProps = { counts: MonitorCounts | undefined; search: ListSearch; onSearch: (search: ListSearch) => void }

/** How many monitors of each state the other filters leave; a press shows those, several states together. */
export function ListStates({ counts, search, onSearch }: StatesProps) {
  const { state, active, ...rest } = search
  const shown = severalOf(state).map((each) => each.toUpperCase())
  const isPartial = counts?.is_partial ?? false
  const isDisabled = active === 'false' && state === undefined
  return (
    <>
      <fieldset className="-mx-4 flex min-w-0 gap-1.5 overflow-x-auto px-4 py-1 sm:mx-0 sm:flex-wrap sm:px-0">
        <legend className="sr-only">Show by state</legend>
        <Choice
          isOn={state === undefined && active === undefined}
          count={counts && counts.active + counts.disabled}
          isPartial={isPartial}
          onPress={() => onSearch(rest)}
        >
          All
        </Choice>
        {STATES.filter((each) => shown.includes(each) || (counts?.states[each] ?? 0) > 0).map((each) => (
          <Choice
            key={each}
            isOn={shown.includes(each)}
            count={counts?.states[each] ?? (counts ? 0 : undefined)}
            isPartial={isPartial}
            title={stateTitle(each)}
            onPress={() => onSearch(withStates(search, [...new Set(shown).symmetricDifference(new Set([each]))]))}
          >
            <StateIcon state={each} />
            {STATE_DISPLAY[each].label}
          </Choice>
        ))}
        {(isDisabled || (counts?.disabled ?? 0) > 0) && (
          <Choice
            isOn={isDisabled}
            count={counts?.disabled}
            isPartial={isPartial}
            onPress={() => onSearch({ ...rest, active: 'false' })}
          >
            <PauseCircle className="size-3.5 text-idle" strokeWidth={2.25} aria-hidden="true" />
            Disabled
          </Choice>
        )}
      </fieldset>
      {isPartial && (
        <p className="text-xs text-faint">
          +: at least. Counting stops after {MOST_COUNTED.toLocaleString()} monitors.
        </p>
      )}
    </>
  )
}

type ChoiceProps = {
  isOn: boolean
  count: number | undefined
  isPartial: boolean
  title?: string
  onPress: () => void
  children: ReactNode
}

function Choice({ isOn, count, isPartial, title, onPress, children }: ChoiceProps) {
  return (
    <button
      type="button"
      aria-pressed={isOn}
      title={title}
      onClick={onPress}
      className={cx(
        'inline-flex h-8 shrink-0 items-center gap-1.5 rounded-full border px-3 text-xs font-medium whitespace-nowrap',
        isOn
          ? 'border-accent bg-accent-wash text-accent-ink'
          : 'border-line bg-surface text-soft hover:bg-sunken hover:text-ink',
      )}
    >
      {children}
      {count !== undefined && (
        <span className={cx('font-normal tabular-nums', !isOn && 'text-faint')}>{countText(count, isPartial)}</span>
      )}
    </button>
  )
}

/** `isPartial`: counting ended before all were looked at. */
export const countText = (count: number, isPartial: boolean): string =>
  isPartial && count > 0 ? `${count.toLocaleString()}+` : count.toLocaleString()
