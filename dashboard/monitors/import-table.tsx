import { useVirtualizer } from '@tanstack/react-virtual'
import { CircleSlash, EqualNot, Eye, type LucideIcon, OctagonX, Plus } from 'lucide-react'
import { memo, useRef } from 'react'
import type { ImportRow } from '#contract/dashboard.ts'
import { cx } from '../ui/class.ts'
import { Checkbox } from '../ui/field.tsx'
import type { Placed } from './import-run.ts'

export type Fate = ImportRow['fate']
export const FATES: Record<Fate, { word: string; filter: string; icon: LucideIcon; look: string }> = {
  make: { word: 'Create', filter: 'New', icon: Plus, look: 'text-ink' },
  differs: { word: 'Differs', filter: 'Changed', icon: EqualNot, look: 'text-warn' },
  exists: { word: 'Exists', filter: 'Same', icon: Eye, look: 'text-idle' },
  skip: { word: 'Skipped', filter: 'Skipped', icon: CircleSlash, look: 'text-idle' },
  refuse: { word: 'Rejected', filter: 'Rejected', icon: OctagonX, look: 'text-bad' },
}

/** Whether something can be done with such a row: a monitor made, or the one that differs updated. */
export const canChoose = (fate: Fate): boolean => fate === 'make' || fate === 'differs'

const COLUMNS =
  'grid grid-cols-[1.25rem_minmax(0,1fr)_auto] items-start gap-x-3 gap-y-1 px-4 ' +
  'md:grid-cols-[1.25rem_2.75rem_minmax(0,4fr)_4rem_minmax(0,4fr)_minmax(0,5fr)]'

type TableProps = {
  rows: readonly Placed[]
  /** Places of rows that are to be left out; undefined where nothing can be chosen any more. */
  dropped: ReadonlySet<number> | undefined
  onDrop: (places: readonly number[], isDropped: boolean) => void
  label: string
}

/** Every row of a plan. Only those in sight are drawn. */
export function ImportTable({ rows, dropped, onDrop, label }: TableProps) {
  const box = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => 41,
    getItemKey: (place) => rows[place]!.at,
    overscan: 12,
  })
  const hasLines = rows.some(({ row }) => row.line !== null)
  const choices = rows.filter(({ row }) => canChoose(row.fate)).map(({ at }) => at)
  const chosen = dropped ? choices.filter((at) => !dropped.has(at)).length : 0
  return (
    // biome-ignore lint/a11y/useSemanticElements: rows of a table element cannot be placed
    <div
      ref={box}
      role="table"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      className="max-h-[30rem] overflow-y-auto overscroll-contain rounded-b-lg -outline-offset-2"
    >
      {/* biome-ignore lint/a11y/useSemanticElements: as above */}
      {/* biome-ignore lint/a11y/useFocusableInteractive: a heading is not for pressing */}
      <div
        role="row"
        aria-rowindex={1}
        className={cx(COLUMNS, 'sticky top-0 z-10 border-b border-line bg-surface py-2 text-xs text-faint')}
      >
        <Heading>
          {dropped && choices.length > 0 ? (
            <Checkbox
              label="Select all rows"
              isLabelHidden
              isChecked={chosen === choices.length}
              isIndeterminate={chosen > 0 && chosen < choices.length}
              onChange={(isChecked) => onDrop(choices, !isChecked)}
            />
          ) : (
            <span className="sr-only">Selected</span>
          )}
        </Heading>
        <Heading className="max-md:hidden">
          <span className={hasLines ? undefined : 'sr-only'}>Line</span>
        </Heading>
        <Heading>Name</Heading>
        <Heading>Type</Heading>
        <Heading className="max-md:hidden">Expected</Heading>
        <Heading className="max-md:hidden">Result</Heading>
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: as above */}
      <div role="rowgroup" className="relative" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ key, index, start }) => {
          const placed = rows[index]!
          return (
            // biome-ignore lint/a11y/useSemanticElements: as above
            // biome-ignore lint/a11y/useFocusableInteractive: a row is read, its checkbox pressed
            <div
              key={key}
              ref={virtual.measureElement}
              data-index={index}
              role="row"
              aria-rowindex={index + 2}
              className={cx(COLUMNS, 'absolute inset-x-0 top-0 py-2.5', index > 0 && 'border-t border-line')}
              style={{ transform: `translateY(${start}px)` }}
            >
              <Cells
                placed={placed}
                isOpen={dropped !== undefined}
                isDropped={dropped?.has(placed.at) ?? false}
                onDrop={onDrop}
              />
            </div>
          )
        })}
      </div>
    </div>
  )
}

function Heading({ children, className }: { children?: React.ReactNode; className?: string }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: as above
    // biome-ignore lint/a11y/useFocusableInteractive: a heading is not for pressing
    <div role="columnheader" className={cx('min-w-0', className)}>
      {children}
    </div>
  )
}

function Cell({ children, className }: { children?: React.ReactNode; className?: string }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: as above
    <div role="cell" className={cx('min-w-0', className)}>
      {children}
    </div>
  )
}

type CellsProps = {
  placed: Placed
  isOpen: boolean
  isDropped: boolean
  onDrop: (places: readonly number[], isDropped: boolean) => void
}

const Cells = memo(function Cells({ placed: { at, row }, isOpen, isDropped, onDrop }: CellsProps) {
  const { word, icon: Icon, look } = FATES[row.fate]
  const isOut = (isDropped && row.fate !== 'differs') || !canChoose(row.fate)
  const note = row.why || ownSettings(row)
  const code = row.fate === 'refuse' && row.code
  return (
    <>
      <Cell>
        {isOpen && canChoose(row.fate) && (
          // Plain, because thousands of them pass by.
          <input
            type="checkbox"
            aria-label={`${row.fate === 'differs' ? 'Update ' : ''}${row.full_domain} ${row.record_type}`}
            checked={!isDropped}
            onChange={(event) => onDrop([at], !event.target.checked)}
            className="mt-0.5 block size-4 accent-accent"
          />
        )}
      </Cell>
      <Cell className="text-xs leading-5 text-faint tabular-nums max-md:col-start-3 max-md:row-start-2 max-md:text-right">
        {row.line !== null && <span className="md:hidden">line </span>}
        {row.line}
      </Cell>
      <Cell
        className={cx(
          'font-mono text-xs leading-5 break-all max-md:col-start-2 max-md:row-start-1',
          isOut && 'text-faint',
        )}
      >
        {row.full_domain}
      </Cell>
      <Cell className="font-mono text-xs leading-5 text-soft max-md:col-start-3 max-md:row-start-1 max-md:text-right">
        {row.record_type}
      </Cell>
      <Cell className={cx('max-md:col-start-2 max-md:row-start-2', isOut && 'text-faint')}>
        <Values values={row.expected_value} />
      </Cell>
      <Cell
        className={cx(
          'flex gap-2 text-xs leading-5 max-md:col-span-2 max-md:col-start-2 max-md:row-start-3',
          // On a narrow screen the mark before the name says it.
          note === '' && !isOut && 'max-md:sr-only',
        )}
      >
        <span
          className={cx('flex h-5 shrink-0 items-center gap-1.5 font-medium', isDropped && isOut ? 'text-faint' : look)}
        >
          <Icon className="size-3.5 shrink-0" strokeWidth={2.25} aria-hidden="true" />
          {row.fate === 'differs' ? (isDropped ? word : 'Update') : isDropped ? 'Not imported' : word}
        </span>
        <span className={cx('min-w-0 break-words', row.fate === 'refuse' ? 'text-bad' : 'text-faint')}>
          {note}
          {code && <span className="ml-1.5 font-mono text-faint">{code}</span>}
        </span>
      </Cell>
    </>
  )
})

const MOST_SHOWN = 3

function Values({ values }: { values: readonly string[] }) {
  return (
    <ul>
      {values.slice(0, MOST_SHOWN).map((value) => (
        <li key={value} className="line-clamp-2 font-mono text-xs leading-5 wrap-anywhere" title={value}>
          {value}
        </li>
      ))}
      {values.length > MOST_SHOWN && <li className="text-xs text-faint">and {values.length - MOST_SHOWN} more</li>}
    </ul>
  )
}

/** What the row says that the settings for all do not. */
function ownSettings({ is_exact_match, group, notify, frequency, external_id }: ImportRow): string {
  return [
    is_exact_match ? '' : 'flexible',
    group === null ? '' : `group ${group}`,
    notify?.replace('_', ' ') ?? '',
    frequency === null ? '' : `every ${frequency} minutes`,
    external_id ?? '',
  ]
    .filter(Boolean)
    .join(' · ')
}
