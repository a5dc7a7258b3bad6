import { PauseCircle } from 'lucide-react'
import type { ReactNode } from 'react'
import type { MonitorCounts } from '#contract/monitor-list.ts'
import { cx } from '../../ui/class-names.ts'
import { STATE_DISPLAY, StateIcon, stateTitle } from '../../ui/state.tsx'
import { countText, shownStates } from './overview.ts'
import { type ListSearch, splitList, withStates } from './query.ts'

// Importing the constant of contract/ would load its schemas too.
const MAX_COUNTED = 5_000

type StatesProps = { counts: MonitorCounts | undefined; search: ListSearch; onSearch: (search: ListSearch) => void }

/** The number of monitors in each state that match the other filters. A click filters by the state; several can be active. */
export function ListStates({ counts, search, onSearch }: StatesProps) {
  const { state, active, ...rest } = search
  const selected = splitList(state).map((name) => name.toUpperCase())
  const isPartial = counts?.is_partial ?? false
  const isDisabled = active === 'false' && state === undefined
  return (
    <>
      <fieldset className="-mx-4 flex min-w-0 gap-1.5 overflow-x-auto px-4 py-1 sm:mx-0 sm:flex-wrap sm:px-0">
        <legend className="sr-only">Show by state</legend>
        <StateButton
          isActive={state === undefined && active === undefined}
          count={counts && counts.active + counts.disabled}
          isPartial={isPartial}
          onClick={() => onSearch(rest)}
        >
          All
        </StateButton>
        {shownStates(counts, selected).map((stateName) => (
          <StateButton
            key={stateName}
            isActive={selected.includes(stateName)}
            count={counts?.states[stateName] ?? (counts ? 0 : undefined)}
            isPartial={isPartial}
            title={stateTitle(stateName)}
            onClick={() =>
              onSearch(withStates(search, [...new Set(selected).symmetricDifference(new Set([stateName]))]))
            }
          >
            <StateIcon state={stateName} />
            {STATE_DISPLAY[stateName].label}
          </StateButton>
        ))}
        {(isDisabled || isPartial || (counts?.disabled ?? 0) > 0) && (
          <StateButton
            isActive={isDisabled}
            count={counts?.disabled}
            isPartial={isPartial}
            onClick={() => onSearch({ ...rest, active: 'false' })}
          >
            <PauseCircle className="size-3.5 text-idle" strokeWidth={2.25} aria-hidden="true" />
            Disabled
          </StateButton>
        )}
      </fieldset>
      {isPartial && (
        <p className="text-xs text-faint">
          + means “at least”. Counting stops after {MAX_COUNTED.toLocaleString()} monitors.
        </p>
      )}
    </>
  )
}

type StateButtonProps = {
  isActive: boolean
  count: number | undefined
  isPartial: boolean
  title?: string
  onClick: () => void
  children: ReactNode
}

function StateButton({ isActive, count, isPartial, title, onClick, children }: StateButtonProps) {
  return (
    <button
      type="button"
      aria-pressed={isActive}
      title={title}
      onClick={onClick}
      className={cx(
        'inline-flex h-8 shrink-0 items-center gap-1.5 rounded-full border px-3 text-xs font-medium whitespace-nowrap',
        isActive
          ? 'border-accent bg-accent-wash text-accent-ink'
          : 'border-line bg-surface text-soft hover:bg-sunken hover:text-ink',
      )}
    >
      {children}
      {count !== undefined && (
        <span className={cx('font-normal tabular-nums', !isActive && 'text-faint')}>{countText(count, isPartial)}</span>
      )}
    </button>
  )
}
