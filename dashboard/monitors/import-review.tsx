import { type ReactNode, useMemo, useState } from 'react'
import { cx } from '../ui/class-names.ts'
import { EmptyState } from '../ui/empty-state.tsx'
import { Section } from '../ui/page.tsx'
import type { Placed } from './import-run.ts'
import { FATES, type Fate, ImportTable } from './import-table.tsx'

type ReviewProps = {
  title: string
  hint: ReactNode
  actions?: ReactNode
  rows: readonly Placed[]
  chosen: ReadonlySet<number> | undefined
  onChoose: (choices: ReadonlyMap<number, boolean>) => void
}

/** What would be made of the input, and what not and why. */
export function ImportReview({ title, hint, actions, rows, chosen, onChoose }: ReviewProps) {
  const [filter, setFilter] = useState<Fate>()
  const counts = useMemo(() => countsOf(rows), [rows])
  // What is filtered for may be gone after the plan was made again.
  const fate = filter && counts[filter] > 0 ? filter : undefined
  const shown = useMemo(() => (fate ? rows.filter(({ row }) => row.fate === fate) : rows), [rows, fate])
  return (
    <Section title={title} hint={hint} actions={actions} isFlush>
      {rows.length === 0 ? (
        <EmptyState icon={FATES.skip.icon} title="No records were found">
          The input contains no records that Zonewatch can monitor. Check that you chose the right file.
        </EmptyState>
      ) : (
        <>
          <fieldset className="flex flex-wrap gap-1.5 border-b border-line px-4 py-2.5">
            <legend className="sr-only">Show rows</legend>
            <Chip isOn={fate === undefined} onPress={() => setFilter(undefined)} count={rows.length}>
              All
            </Chip>
            {(Object.keys(FATES) as Fate[])
              .filter((each) => counts[each] > 0)
              .map((each) => (
                <Chip key={each} isOn={fate === each} onPress={() => setFilter(each)} count={counts[each]}>
                  {FATES[each].filter}
                </Chip>
              ))}
          </fieldset>
          <ImportTable key={fate} rows={shown} chosen={chosen} onChoose={onChoose} label={title} />
        </>
      )}
    </Section>
  )
}

type ChipProps = { isOn: boolean; onPress: () => void; count: number; children: string }

function Chip({ isOn, onPress, count, children }: ChipProps) {
  return (
    <button
      type="button"
      aria-pressed={isOn}
      onClick={onPress}
      className={cx(
        'inline-flex h-7 items-center gap-1.5 rounded-md px-2.5 text-xs font-medium',
        isOn ? 'bg-accent-wash text-accent-ink' : 'text-soft hover:bg-sunken hover:text-ink',
      )}
    >
      {children} <span className="tabular-nums">{count.toLocaleString()}</span>
    </button>
  )
}

function countsOf(rows: readonly Placed[]): Record<Fate, number> {
  const counts: Record<Fate, number> = { make: 0, differs: 0, exists: 0, skip: 0, refuse: 0 }
  for (const { row } of rows) counts[row.fate]++
  return counts
}
