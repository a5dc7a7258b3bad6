import {
  type Cell,
  type ColumnDef,
  columnOrderingFeature,
  columnVisibilityFeature,
  createExpandedRowModel,
  type Header,
  type Row,
  type RowData,
  rowExpandingFeature,
  rowSelectionFeature,
  rowSortingFeature,
  type Table,
  type TableOptions,
  tableFeatures,
  useTable,
} from '@tanstack/react-table'
import { ArrowDown, ArrowUp, ChevronLeft, ChevronRight } from 'lucide-react'
import type { CSSProperties, KeyboardEvent, ReactNode } from 'react'
import type { Page } from '../api.ts'
import { Button } from './button.tsx'
import { cx } from './class-names.ts'
import { Skeleton } from './page.tsx'
import { ProblemPage } from './problem.tsx'

type ColumnMeta = {
  /** For header and cells. */
  className?: string
  headerClassName?: string
  cellClassName?: string | ((row: never) => string)
  /** Pixels, in a table with fixed columns. */
  width?: number | undefined
  /** Only screen readers get the header, for example of a column of buttons. */
  isHeaderHidden?: boolean
}

/** The server filters, sorts and pages the rows. */
const features = tableFeatures({
  columnOrderingFeature,
  columnVisibilityFeature,
  rowExpandingFeature,
  rowSelectionFeature,
  rowSortingFeature,
  expandedRowModel: createExpandedRowModel(),
  columnMeta: {} as ColumnMeta,
})
type Features = typeof features
export type Column<T extends RowData> = ColumnDef<Features, T>
export type TableModel<T extends RowData> = Table<Features, T>
export type TableRow<T extends RowData> = Row<Features, T>
type TableModelOptions<T extends RowData> = Omit<TableOptions<Features, T>, 'features'>

/** A TanStack table with the features above. */
export const useTableModel = <T extends RowData>(options: TableModelOptions<T>): TableModel<T> =>
  useTable({
    features,
    enableSorting: options.onSortingChange !== undefined,
    enableSortingRemoval: false,
    enableMultiSort: false,
    autoResetExpanded: false,
    ...options,
  })

type Cursors = Pick<Page<unknown>, 'after' | 'before'>

export type PagedTableProps<T extends RowData> = Omit<DataProps<T>, 'rows'> & {
  list: { data: ({ data: readonly T[] } & Partial<Cursors>) | undefined; error: unknown; refetch: () => unknown }
  skeletonLines: number
  /** Shown instead of a table without rows. */
  empty?: ReactNode
  /** Without it the list has one page. */
  onPage?: (cursor: { after?: string; before?: string }) => void
}

/** One page of a list of the API, or its skeleton, error or empty state. */
export function PagedTable<T extends RowData>({ list, skeletonLines, empty, onPage, ...table }: PagedTableProps<T>) {
  const { data: page, error, refetch } = list
  if (error && !page) return <ProblemPage problem={error} onRetry={() => void refetch()} />
  if (!page) return <Skeleton lines={skeletonLines} className="p-4" />
  return (
    <>
      {page.data.length === 0 && empty ? empty : <DataTable {...table} rows={page.data} />}
      {onPage && <Pager page={page} onAfter={(after) => onPage({ after })} onBefore={(before) => onPage({ before })} />}
    </>
  )
}

type DataProps<T extends RowData> = {
  label: string
  columns: readonly Column<T>[]
  rows: readonly T[]
  /** Default: `id`. */
  rowId?: (row: T) => string
  subRows?: (row: T) => readonly T[] | undefined
  /** Replaces the cells of a row that has sub-rows. */
  groupHeader?: (row: TableRow<T>) => ReactNode
  /** A link or button covers the whole row. */
  isClickable?: boolean
}

/** Shows all rows, and scrolls horizontally on narrow screens. */
export function DataTable<T extends RowData>({
  label,
  columns,
  rows,
  rowId = idOf,
  subRows,
  groupHeader,
  isClickable,
}: DataProps<T>) {
  const table = useTableModel<T>({
    columns,
    data: rows,
    getRowId: rowId,
    ...(subRows ? { getSubRows: subRows } : {}),
  })
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className="relative overflow-x-auto" tabIndex={0} aria-label={label}>
      <TableFrame table={table} label={label} className="border-collapse" headClassName="border-b border-line">
        {table.getRowModel().rows.map((row) => (
          <tr key={row.id} className={isClickable ? 'relative hover:bg-sunken/60' : undefined}>
            {groupHeader && row.subRows.length > 0 ? (
              <td colSpan={row.getVisibleCells().length} className={CELL}>
                {groupHeader(row)}
              </td>
            ) : (
              <Cells row={row} className={CELL} />
            )}
          </tr>
        ))}
      </TableFrame>
    </section>
  )
}

/** A cell that renders the data of its row. */
export const rowCell =
  <T extends RowData>(render: (row: T) => ReactNode) =>
  ({ row }: { row: { original: T } }): ReactNode =>
    render(row.original)

const CELL = 'px-4 py-2.5 align-middle'
const idOf = (row: unknown): string => (row as { id: string }).id

type FrameProps<T extends RowData> = {
  table: TableModel<T>
  label: string
  /** Includes the header row. -1 when unknown. */
  rowCount?: number
  /** CSS changes `display`, which removes the table roles in some browsers, so they are set explicitly. */
  hasCustomDisplay?: boolean
  className?: string
  headClassName?: string
  headRowClassName?: string
  bodyClassName?: string
  bodyStyle?: CSSProperties
  style?: CSSProperties | undefined
  onKeyDown?: (event: KeyboardEvent<HTMLElement>) => void
  children: ReactNode
}

/** The table element and its header. The children are its rows. */
export function TableFrame<T extends RowData>(props: FrameProps<T>) {
  const { table, label, rowCount, hasCustomDisplay, style, onKeyDown, children } = props
  const { className, headClassName, headRowClassName, bodyClassName = 'divide-y divide-line', bodyStyle } = props
  return (
    <table
      aria-label={label}
      aria-rowcount={rowCount}
      role={hasCustomDisplay ? 'table' : undefined}
      style={style}
      className={cx('w-full text-left text-sm', className)}
    >
      <thead role={hasCustomDisplay ? 'rowgroup' : undefined} className={cx('text-xs text-faint', headClassName)}>
        {table.getHeaderGroups().map((group) => (
          <tr
            key={group.id}
            role={hasCustomDisplay ? 'row' : undefined}
            aria-rowindex={rowCount === undefined ? undefined : 1}
            className={headRowClassName}
          >
            {group.headers.map((header) => (
              <HeaderCell key={header.id} header={header} hasCustomDisplay={hasCustomDisplay} />
            ))}
          </tr>
        ))}
      </thead>
      <tbody
        role={hasCustomDisplay ? 'rowgroup' : undefined}
        className={bodyClassName}
        style={bodyStyle}
        onKeyDown={onKeyDown}
      >
        {children}
      </tbody>
    </table>
  )
}

const SORTED = { asc: 'ascending', desc: 'descending' } as const

function HeaderCell<T extends RowData>({
  header,
  hasCustomDisplay,
}: {
  header: Header<Features, T>
  hasCustomDisplay?: boolean | undefined
}) {
  const { column } = header
  const { className, headerClassName, width, isHeaderHidden } = column.columnDef.meta ?? {}
  const sorted = column.getIsSorted()
  const Arrow = sorted === 'desc' ? ArrowDown : ArrowUp
  const name = renderPart(column.columnDef.header, header.getContext())
  return (
    <th
      scope="col"
      role={hasCustomDisplay ? 'columnheader' : undefined}
      aria-sort={sorted ? SORTED[sorted] : undefined}
      style={width === undefined ? undefined : { width }}
      className={cx('h-9 px-4 font-medium whitespace-nowrap', className, headerClassName)}
    >
      {column.getCanSort() ? (
        <button
          type="button"
          onClick={column.getToggleSortingHandler()}
          className="group -mx-1 inline-flex items-center gap-1 rounded-sm px-1 hover:text-ink"
        >
          {name}
          <Arrow className={cx('size-3', !sorted && 'opacity-0 group-hover:opacity-60')} aria-hidden="true" />
        </button>
      ) : isHeaderHidden ? (
        <span className="sr-only">{name}</span>
      ) : (
        name
      )}
    </th>
  )
}

type CellsProps<T extends RowData> = { row: TableRow<T>; hasCustomDisplay?: boolean; className?: string }

/** The cells of the visible columns. */
export function Cells<T extends RowData>({ row, hasCustomDisplay, className }: CellsProps<T>) {
  return row.getVisibleCells().map((cell) => (
    <td key={cell.id} role={hasCustomDisplay ? 'cell' : undefined} className={cx(className, cellClass(cell))}>
      {renderPart(cell.column.columnDef.cell, cell.getContext())}
    </td>
  ))
}

function cellClass<T extends RowData>({ column, row }: Cell<Features, T>): string {
  const { className, cellClassName } = column.columnDef.meta ?? {}
  return cx(className, typeof cellClassName === 'function' ? cellClassName(row as never) : cellClassName)
}

/** Calls the function instead of mounting it, so that cells keep their state when a page redefines its columns. */
const renderPart = <C,>(part: ReactNode | ((context: C) => ReactNode), context: C): ReactNode =>
  typeof part === 'function' ? part(context) : part

/** Previous and Next buttons of a list of the API. */
export function Pager({
  page,
  onAfter,
  onBefore,
}: {
  page: Partial<Cursors> | undefined
  onAfter: (cursor: string) => void
  onBefore: (cursor: string) => void
}) {
  if (!page?.before && !page?.after) return null
  return (
    <nav aria-label="Pages" className="flex justify-end gap-2 border-t border-line px-4 py-2.5">
      <Button size="sm" disabled={!page.before} onClick={() => page.before && onBefore(page.before)}>
        <ChevronLeft /> Previous
      </Button>
      <Button size="sm" disabled={!page.after} onClick={() => page.after && onAfter(page.after)}>
        Next <ChevronRight />
      </Button>
    </nav>
  )
}
