import { functionalUpdate } from '@tanstack/react-table'
import { useVirtualizer } from '@tanstack/react-virtual'
import { CircleSlash, EqualNot, Eye, type LucideIcon, OctagonX, Plus } from 'lucide-react'
import { memo, type ReactNode, useMemo, useRef, useState } from 'react'
import type { ImportRow } from '#contract/dashboard.ts'
import { visible } from '#contract/visible-text.ts'
import { cx } from '../../ui/class-names.ts'
import { EmptyState } from '../../ui/empty-state.tsx'
import { Checkbox } from '../../ui/field.tsx'
import { Section } from '../../ui/page.tsx'
import { Cells, type Column, rowCell, TableFrame, type TableRow, useTableModel } from '../../ui/table.tsx'
import type { IndexedRow } from './run.ts'

export type ImportResult = ImportRow['result']
export const RESULT_DISPLAY: Record<
  ImportResult,
  { label: string; filter: string; icon: LucideIcon; className: string }
> = {
  create: { label: 'Create', filter: 'New', icon: Plus, className: 'text-ink' },
  update: { label: 'Differs', filter: 'Changed', icon: EqualNot, className: 'text-warn' },
  unchanged: { label: 'Exists', filter: 'Same', icon: Eye, className: 'text-idle' },
  skip: { label: 'Skipped', filter: 'Skipped', icon: CircleSlash, className: 'text-idle' },
  reject: { label: 'Rejected', filter: 'Rejected', icon: OctagonX, className: 'text-bad' },
}

/** The import creates a monitor for the row, or updates the one that differs. */
export const canImport = (result: ImportResult): boolean => result === 'create' || result === 'update'

const ROW_GRID =
  'grid grid-cols-[1.25rem_minmax(0,1fr)_auto] items-start gap-x-3 gap-y-1 border-line px-4 ' +
  'md:grid-cols-[1.25rem_2.75rem_minmax(0,4fr)_4rem_minmax(0,4fr)_minmax(0,5fr)]'

type TableProps = {
  rows: readonly IndexedRow[]
  /** Indexes of the rows to import; undefined when the selection is final. */
  selected: ReadonlySet<number> | undefined
  /** For each selectable row, by its index. */
  onSelect: (selections: ReadonlyMap<number, boolean>) => void
  label: string
}

/** All rows of a plan. Renders only the visible ones. */
export function ImportTable({ rows, selected, onSelect, label }: TableProps) {
  const scrollBox = useRef<HTMLElement>(null)
  const rowSelection = useMemo(
    () => Object.fromEntries([...(selected ?? [])].map((index) => [index, true] as const)),
    [selected],
  )
  const table = useTableModel<IndexedRow>({
    columns: selected ? COLUMNS : READ_ONLY_COLUMNS,
    data: rows,
    getRowId: ({ index }) => String(index),
    enableRowSelection: ({ original: { row } }) => canImport(row.result),
    state: { rowSelection },
    onRowSelectionChange: (change) => {
      const next = functionalUpdate(change, rowSelection)
      onSelect(
        new Map(rows.filter(({ row }) => canImport(row.result)).map(({ index }) => [index, next[index] ?? false])),
      )
    },
  })
  const tableRows = table.getRowModel().rows
  const virtual = useVirtualizer({
    count: tableRows.length,
    getScrollElement: () => scrollBox.current,
    estimateSize: () => 41,
    getItemKey: (index) => tableRows[index]!.id,
    overscan: 12,
  })
  return (
    <section
      ref={scrollBox}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      className="max-h-[30rem] overflow-y-auto overscroll-contain rounded-b-lg -outline-offset-2"
    >
      <TableFrame
        table={table}
        label={label}
        rowCount={rows.length + 1}
        hasCustomDisplay
        className="block"
        headClassName="sticky top-0 z-10 block border-b border-line bg-surface"
        headRowClassName={cx(ROW_GRID, 'py-2')}
        bodyClassName="relative block"
        bodyStyle={{ height: virtual.getTotalSize() }}
      >
        {virtual.getVirtualItems().map(({ key, index, start }) => {
          const row = tableRows[index]!
          return (
            <tr
              key={key}
              ref={virtual.measureElement}
              data-index={index}
              // biome-ignore lint/a11y/noRedundantRoles: CSS display removes the role in some browsers
              role="row"
              aria-rowindex={index + 2}
              className={cx(ROW_GRID, 'absolute inset-x-0 top-0 py-2.5', index > 0 && 'border-t')}
              style={{ transform: `translateY(${start}px)` }}
            >
              <RowCells row={row} columns={table.options.columns} isSelected={row.getIsSelected()} />
            </tr>
          )
        })}
      </TableFrame>
    </section>
  )
}

type LineProps = { row: TableRow<IndexedRow>; columns: readonly Column<IndexedRow>[]; isSelected: boolean }

const RowCells = memo(({ row }: LineProps) => <Cells row={row} hasCustomDisplay className="min-w-0" />)

const HEADER = 'h-auto! min-w-0 px-0! font-normal!'
const WIDE_HEADER = `${HEADER} max-md:hidden`

function columnsWith(isSelectable: boolean): Column<IndexedRow>[] {
  const isDeselected = (row: TableRow<IndexedRow>) => isSelectable && row.getCanSelect() && !row.getIsSelected()
  const isNotImported = (row: TableRow<IndexedRow>) =>
    (isDeselected(row) && row.original.row.result !== 'update') || !canImport(row.original.row.result)
  return [
    {
      id: 'choice',
      header: ({ table }) => {
        const { rows } = table.getRowModel()
        const isAll = table.getIsAllRowsSelected()
        return isSelectable && rows.some((row) => row.getCanSelect()) ? (
          <Checkbox
            label="Select all rows"
            isLabelHidden
            isChecked={isAll}
            isIndeterminate={!isAll && rows.some((row) => row.getIsSelected())}
            onChange={(isOn) => table.toggleAllRowsSelected(isOn)}
          />
        ) : (
          <span className="sr-only">Selected</span>
        )
      },
      meta: { headerClassName: HEADER },
      cell: ({ row }) =>
        isSelectable &&
        row.getCanSelect() && (
          // A plain input, because there are thousands of rows.
          <input
            type="checkbox"
            aria-label={checkboxLabel(row.original.row)}
            checked={row.getIsSelected()}
            onChange={row.getToggleSelectedHandler()}
            className="mt-0.5 block size-4 accent-accent"
          />
        ),
    },
    {
      id: 'line',
      header: ({ table }) => {
        const hasLines = table.options.data.some(({ row }) => row.line !== null)
        return <span className={hasLines ? undefined : 'sr-only'}>Line</span>
      },
      meta: {
        headerClassName: WIDE_HEADER,
        cellClassName:
          'text-xs leading-5 text-faint tabular-nums max-md:col-start-3 max-md:row-start-2 max-md:text-right',
      },
      cell: rowCell(({ row }) => (
        <>
          {row.line !== null && <span className="md:hidden">line </span>}
          {row.line}
        </>
      )),
    },
    {
      id: 'name',
      header: 'Name',
      meta: {
        headerClassName: HEADER,
        cellClassName: (row: TableRow<IndexedRow>) =>
          cx(
            'font-mono text-xs leading-5 break-all max-md:col-start-2 max-md:row-start-1',
            isNotImported(row) && 'text-faint',
          ),
      },
      cell: ({ row }) => row.original.row.full_domain,
    },
    {
      id: 'type',
      header: 'Type',
      meta: {
        headerClassName: HEADER,
        cellClassName: 'font-mono text-xs leading-5 text-soft max-md:col-start-3 max-md:row-start-1 max-md:text-right',
      },
      cell: ({ row }) => row.original.row.record_type,
    },
    {
      id: 'expected',
      header: 'Expected',
      meta: {
        headerClassName: WIDE_HEADER,
        cellClassName: (row: TableRow<IndexedRow>) =>
          cx('max-md:col-start-2 max-md:row-start-2', isNotImported(row) && 'text-faint'),
      },
      cell: ({ row }) => <Values values={row.original.row.expected_value} />,
    },
    {
      id: 'result',
      header: 'Result',
      meta: {
        headerClassName: WIDE_HEADER,
        cellClassName: (row: TableRow<IndexedRow>) =>
          cx(
            'flex gap-2 text-xs leading-5 max-md:col-span-2 max-md:col-start-2 max-md:row-start-3',
            // On a narrow screen the checkbox shows it.
            noteText(row.original.row) === '' && !isNotImported(row) && 'max-md:sr-only',
          ),
      },
      cell: ({ row }) => (
        <Result row={row.original.row} isDeselected={isDeselected(row)} isNotImported={isNotImported(row)} />
      ),
    },
  ]
}

const COLUMNS = columnsWith(true)
const READ_ONLY_COLUMNS = columnsWith(false)

const checkboxLabel = ({ result, full_domain, record_type }: ImportRow): string =>
  `${result === 'update' ? 'Update ' : ''}${full_domain} ${record_type}`

function Result({
  row,
  isDeselected,
  isNotImported,
}: {
  row: ImportRow
  isDeselected: boolean
  isNotImported: boolean
}) {
  const { label, icon: Icon, className } = RESULT_DISPLAY[row.result]
  const code = row.result === 'reject' && row.code
  return (
    <>
      <span
        className={cx(
          'flex h-5 shrink-0 items-center gap-1.5 font-medium',
          isDeselected && isNotImported ? 'text-faint' : className,
        )}
      >
        <Icon className="size-3.5 shrink-0" strokeWidth={2.25} aria-hidden="true" />
        {row.result === 'update' ? (isDeselected ? label : 'Update') : isDeselected ? 'Not imported' : label}
      </span>
      <span className={cx('min-w-0 break-words', row.result === 'reject' ? 'text-bad' : 'text-faint')}>
        {noteText(row)}
        {code && <span className="ml-1.5 font-mono text-faint">{code}</span>}
      </span>
    </>
  )
}

const noteText = (row: ImportRow): string => row.reason || ownSettingsText(row)

const MAX_VALUES_SHOWN = 3

function Values({ values }: { values: readonly string[] }) {
  return (
    <ul>
      {values.slice(0, MAX_VALUES_SHOWN).map((value) => (
        <li key={value} className="line-clamp-2 font-mono text-xs leading-5 wrap-anywhere" title={visible(value)}>
          {visible(value)}
        </li>
      ))}
      {values.length > MAX_VALUES_SHOWN && (
        <li className="text-xs text-faint">and {values.length - MAX_VALUES_SHOWN} more</li>
      )}
    </ul>
  )
}

/** The settings of the row itself. */
function ownSettingsText({ is_exact_match, group, notify, frequency, external_id }: ImportRow): string {
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

type ReviewProps = {
  title: string
  hint: ReactNode
  actions?: ReactNode
  rows: readonly IndexedRow[]
  selected: ReadonlySet<number> | undefined
  onSelect: (selections: ReadonlyMap<number, boolean>) => void
}

/** The rows, with filters by what happens to them. */
export function ImportReview({ title, hint, actions, rows, selected, onSelect }: ReviewProps) {
  const [filter, setFilter] = useState<ImportResult>()
  const counts = useMemo(() => countByFate(rows), [rows])
  // A new plan may have no row of the filtered result.
  const result = filter && counts[filter] > 0 ? filter : undefined
  const shown = useMemo(() => (result ? rows.filter(({ row }) => row.result === result) : rows), [rows, result])
  return (
    <Section title={title} hint={hint} actions={actions} isFlush>
      {rows.length === 0 ? (
        <EmptyState icon={RESULT_DISPLAY.skip.icon} title="No records were found">
          The input contains no records that Zonewatch can monitor. Check that you chose the right file.
        </EmptyState>
      ) : (
        <>
          <fieldset className="flex flex-wrap gap-1.5 border-b border-line px-4 py-2.5">
            <legend className="sr-only">Show rows</legend>
            <FilterButton isActive={result === undefined} onClick={() => setFilter(undefined)} count={rows.length}>
              All
            </FilterButton>
            {(Object.keys(RESULT_DISPLAY) as ImportResult[])
              .filter((each) => counts[each] > 0)
              .map((each) => (
                <FilterButton
                  key={each}
                  isActive={result === each}
                  onClick={() => setFilter(each)}
                  count={counts[each]}
                >
                  {RESULT_DISPLAY[each].filter}
                </FilterButton>
              ))}
          </fieldset>
          <ImportTable key={result} rows={shown} selected={selected} onSelect={onSelect} label={title} />
        </>
      )}
    </Section>
  )
}

type FilterButtonProps = { isActive: boolean; onClick: () => void; count: number; children: string }

function FilterButton({ isActive, onClick, count, children }: FilterButtonProps) {
  return (
    <button
      type="button"
      aria-pressed={isActive}
      onClick={onClick}
      className={cx(
        'inline-flex h-7 items-center gap-1.5 rounded-md px-2.5 text-xs font-medium',
        isActive ? 'bg-accent-wash text-accent-ink' : 'text-soft hover:bg-sunken hover:text-ink',
      )}
    >
      {children} <span className="tabular-nums">{count.toLocaleString()}</span>
    </button>
  )
}

function countByFate(rows: readonly IndexedRow[]): Record<ImportResult, number> {
  const counts: Record<ImportResult, number> = { create: 0, update: 0, unchanged: 0, skip: 0, reject: 0 }
  for (const { row } of rows) counts[row.result]++
  return counts
}
