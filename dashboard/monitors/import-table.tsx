import { functionalUpdate } from '@tanstack/react-table'
import { useVirtualizer } from '@tanstack/react-virtual'
import { CircleSlash, EqualNot, Eye, type LucideIcon, OctagonX, Plus } from 'lucide-react'
import { memo, useMemo, useRef } from 'react'
import type { ImportRow } from '#contract/dashboard.ts'
import { cx } from '../ui/class-names.ts'
import { Checkbox } from '../ui/field.tsx'
import { Cells, type Column, TableFrame, type TableRow, useTableModel } from '../ui/table.tsx'
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

const LINE =
  'grid grid-cols-[1.25rem_minmax(0,1fr)_auto] items-start gap-x-3 gap-y-1 border-line px-4 ' +
  'md:grid-cols-[1.25rem_2.75rem_minmax(0,4fr)_4rem_minmax(0,4fr)_minmax(0,5fr)]'

type TableProps = {
  rows: readonly Placed[]
  /** Places of the rows that are to be imported; undefined where nothing can be chosen any more. */
  chosen: ReadonlySet<number> | undefined
  /** For each row that can be chosen, by its place. */
  onChoose: (choices: ReadonlyMap<number, boolean>) => void
  label: string
}

/** Every row of a plan. Only those in sight are drawn. */
export function ImportTable({ rows, chosen, onChoose, label }: TableProps) {
  const box = useRef<HTMLElement>(null)
  const rowSelection = useMemo(() => Object.fromEntries([...(chosen ?? [])].map((at) => [at, true] as const)), [chosen])
  const table = useTableModel<Placed>({
    columns: chosen ? COLUMNS : COLUMNS_WITHOUT_CHOICE,
    data: rows,
    getRowId: ({ at }) => String(at),
    enableRowSelection: ({ original: { row } }) => canChoose(row.fate),
    state: { rowSelection },
    onRowSelectionChange: (change) => {
      const next = functionalUpdate(change, rowSelection)
      onChoose(new Map(rows.filter(({ row }) => canChoose(row.fate)).map(({ at }) => [at, next[at] ?? false])))
    },
  })
  const shown = table.getRowModel().rows
  const virtual = useVirtualizer({
    count: shown.length,
    getScrollElement: () => box.current,
    estimateSize: () => 41,
    getItemKey: (place) => shown[place]!.id,
    overscan: 12,
  })
  return (
    <section
      ref={box}
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
        headRowClassName={cx(LINE, 'py-2')}
        bodyClassName="relative block"
        bodyStyle={{ height: virtual.getTotalSize() }}
      >
        {virtual.getVirtualItems().map(({ key, index, start }) => {
          const row = shown[index]!
          return (
            <tr
              key={key}
              ref={virtual.measureElement}
              data-index={index}
              // biome-ignore lint/a11y/noRedundantRoles: its display takes the role in some browsers
              role="row"
              aria-rowindex={index + 2}
              className={cx(LINE, 'absolute inset-x-0 top-0 py-2.5', index > 0 && 'border-t')}
              style={{ transform: `translateY(${start}px)` }}
            >
              <LineCells row={row} columns={table.options.columns} isSelected={row.getIsSelected()} />
            </tr>
          )
        })}
      </TableFrame>
    </section>
  )
}

type LineProps = { row: TableRow<Placed>; columns: readonly Column<Placed>[]; isSelected: boolean }

const LineCells = memo(({ row }: LineProps) => <Cells row={row} hasCustomDisplay className="min-w-0" />)

const HEAD = 'h-auto! min-w-0 px-0! font-normal!'
const WIDE_HEAD = `${HEAD} max-md:hidden`

/** `hasChoice`: while rows can be chosen. */
function columnsWith(hasChoice: boolean): Column<Placed>[] {
  const isDropped = (row: TableRow<Placed>) => hasChoice && row.getCanSelect() && !row.getIsSelected()
  const isOut = (row: TableRow<Placed>) =>
    (isDropped(row) && row.original.row.fate !== 'differs') || !canChoose(row.original.row.fate)
  return [
    {
      id: 'choice',
      header: ({ table }) => {
        const { rows } = table.getRowModel()
        const isAll = table.getIsAllRowsSelected()
        return hasChoice && rows.some((row) => row.getCanSelect()) ? (
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
      meta: { headerClassName: HEAD },
      cell: ({ row }) =>
        hasChoice &&
        row.getCanSelect() && (
          // Plain, because thousands of them pass by.
          <input
            type="checkbox"
            aria-label={labelOf(row.original.row)}
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
        headerClassName: WIDE_HEAD,
        cellClassName:
          'text-xs leading-5 text-faint tabular-nums max-md:col-start-3 max-md:row-start-2 max-md:text-right',
      },
      cell: ({
        row: {
          original: { row },
        },
      }) => (
        <>
          {row.line !== null && <span className="md:hidden">line </span>}
          {row.line}
        </>
      ),
    },
    {
      id: 'name',
      header: 'Name',
      meta: {
        headerClassName: HEAD,
        cellClassName: (row: TableRow<Placed>) =>
          cx('font-mono text-xs leading-5 break-all max-md:col-start-2 max-md:row-start-1', isOut(row) && 'text-faint'),
      },
      cell: ({ row }) => row.original.row.full_domain,
    },
    {
      id: 'type',
      header: 'Type',
      meta: {
        headerClassName: HEAD,
        cellClassName: 'font-mono text-xs leading-5 text-soft max-md:col-start-3 max-md:row-start-1 max-md:text-right',
      },
      cell: ({ row }) => row.original.row.record_type,
    },
    {
      id: 'expected',
      header: 'Expected',
      meta: {
        headerClassName: WIDE_HEAD,
        cellClassName: (row: TableRow<Placed>) =>
          cx('max-md:col-start-2 max-md:row-start-2', isOut(row) && 'text-faint'),
      },
      cell: ({ row }) => <Values values={row.original.row.expected_value} />,
    },
    {
      id: 'result',
      header: 'Result',
      meta: {
        headerClassName: WIDE_HEAD,
        cellClassName: (row: TableRow<Placed>) =>
          cx(
            'flex gap-2 text-xs leading-5 max-md:col-span-2 max-md:col-start-2 max-md:row-start-3',
            // On a narrow screen the mark before the name says it.
            noteOf(row.original.row) === '' && !isOut(row) && 'max-md:sr-only',
          ),
      },
      cell: ({ row }) => <Result row={row.original.row} isDropped={isDropped(row)} isOut={isOut(row)} />,
    },
  ]
}

const COLUMNS = columnsWith(true)
const COLUMNS_WITHOUT_CHOICE = columnsWith(false)

const labelOf = ({ fate, full_domain, record_type }: ImportRow): string =>
  `${fate === 'differs' ? 'Update ' : ''}${full_domain} ${record_type}`

function Result({ row, isDropped, isOut }: { row: ImportRow; isDropped: boolean; isOut: boolean }) {
  const { word, icon: Icon, look } = FATES[row.fate]
  const code = row.fate === 'refuse' && row.code
  return (
    <>
      <span
        className={cx('flex h-5 shrink-0 items-center gap-1.5 font-medium', isDropped && isOut ? 'text-faint' : look)}
      >
        <Icon className="size-3.5 shrink-0" strokeWidth={2.25} aria-hidden="true" />
        {row.fate === 'differs' ? (isDropped ? word : 'Update') : isDropped ? 'Not imported' : word}
      </span>
      <span className={cx('min-w-0 break-words', row.fate === 'refuse' ? 'text-bad' : 'text-faint')}>
        {noteOf(row)}
        {code && <span className="ml-1.5 font-mono text-faint">{code}</span>}
      </span>
    </>
  )
}

const noteOf = (row: ImportRow): string => row.why || ownSettings(row)

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
