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
import { cx } from './class.ts'
import { Skeleton } from './page.tsx'
import { ProblemPage } from './problem.tsx'

type Look = {
  /** Of the head and the cells. */
  className?: string
  /** Of the head alone. */
  head?: string
  /** Of the cells alone. For a function the row is that of the table. */
  cell?: string | ((row: never) => string)
  /** In pixels, in a table with fixed columns. */
  width?: number | undefined
  /** For columns that say nothing to the eye (buttons): the head is only read aloud. */
  isHeadHidden?: boolean
}

/** Rows come from the server filtered, sorted and in pages, so nothing here does that. */
const features = tableFeatures({
  columnOrderingFeature,
  columnVisibilityFeature,
  rowExpandingFeature,
  rowSelectionFeature,
  rowSortingFeature,
  expandedRowModel: createExpandedRowModel(),
  columnMeta: {} as Look,
})
type Features = typeof features
export type Column<T extends RowData> = ColumnDef<Features, T>
export type TableModel<T extends RowData> = Table<Features, T>
export type TableRow<T extends RowData> = Row<Features, T>
type ModelOptions<T extends RowData> = Omit<TableOptions<Features, T>, 'features'>

/** Columns, rows and what is selected, sorted by, shown and open, as TanStack Table has them. */
export const useTableModel = <T extends RowData>(options: ModelOptions<T>): TableModel<T> =>
  useTable({
    features,
    enableSorting: options.onSortingChange !== undefined,
    enableSortingRemoval: false,
    enableMultiSort: false,
    autoResetExpanded: false,
    ...options,
  })

type Cursors = Pick<Page<unknown>, 'after' | 'before'>

export type PagedProps<T extends RowData> = Omit<DataProps<T>, 'rows'> & {
  list: { data: ({ data: readonly T[] } & Partial<Cursors>) | undefined; error: unknown; refetch: () => unknown }
  /** As many lines as are likely, while they are fetched. */
  lines: number
  /** In place of a table without rows. */
  empty?: ReactNode
  /** Undefined: the list has one page. */
  onPage?: (cursor: { after?: string; before?: string }) => void
}

/** A list of the API: a page of its rows, the shape of them while they are fetched, or why there are none. */
export function PagedTable<T extends RowData>({ list, lines, empty, onPage, ...table }: PagedProps<T>) {
  const { data: page, error, refetch } = list
  if (error && !page) return <ProblemPage problem={error} onRetry={() => void refetch()} />
  if (!page) return <Skeleton lines={lines} className="p-4" />
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
  /** Where a row has no `id`. */
  rowId?: (row: T) => string
  subRows?: (row: T) => readonly T[] | undefined
  /** Of a row with rows below it: instead of its cells. */
  head?: (row: TableRow<T>) => ReactNode
  /** A link or a button of the row covers it. */
  isPressable?: boolean
}

/** All rows, as wide as they need to be; scrolls sideways where the screen is narrow. */
export function DataTable<T extends RowData>({
  label,
  columns,
  rows,
  rowId = idOf,
  subRows,
  head,
  isPressable,
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
          <tr key={row.id} className={isPressable ? 'relative hover:bg-sunken/60' : undefined}>
            {head && row.subRows.length > 0 ? (
              <td colSpan={row.getVisibleCells().length} className={CELL}>
                {head(row)}
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

const CELL = 'px-4 py-2.5 align-middle'
const idOf = (row: unknown): string => (row as { id: string }).id

type FrameProps<T extends RowData> = {
  table: TableModel<T>
  label: string
  /** With the row of the heads; -1: not known. */
  rowCount?: number
  /** Its elements have another display, which takes their roles in some browsers. */
  isReshaped?: boolean
  className?: string
  headClassName?: string
  headRowClassName?: string
  bodyClassName?: string
  bodyStyle?: CSSProperties
  style?: CSSProperties | undefined
  onKeyDown?: (event: KeyboardEvent<HTMLElement>) => void
  children: ReactNode
}

/** The table with the names of its columns; `children` are its rows. */
export function TableFrame<T extends RowData>(props: FrameProps<T>) {
  const { table, label, rowCount, isReshaped, style, onKeyDown, children } = props
  const { className, headClassName, headRowClassName, bodyClassName = 'divide-y divide-line', bodyStyle } = props
  return (
    <table
      aria-label={label}
      aria-rowcount={rowCount}
      role={isReshaped ? 'table' : undefined}
      style={style}
      className={cx('w-full text-left text-sm', className)}
    >
      <thead role={isReshaped ? 'rowgroup' : undefined} className={cx('text-xs text-faint', headClassName)}>
        {table.getHeaderGroups().map((group) => (
          <tr
            key={group.id}
            role={isReshaped ? 'row' : undefined}
            aria-rowindex={rowCount === undefined ? undefined : 1}
            className={headRowClassName}
          >
            {group.headers.map((header) => (
              <Head key={header.id} header={header} isReshaped={isReshaped} />
            ))}
          </tr>
        ))}
      </thead>
      <tbody
        role={isReshaped ? 'rowgroup' : undefined}
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

function Head<T extends RowData>({
  header,
  isReshaped,
}: {
  header: Header<Features, T>
  isReshaped?: boolean | undefined
}) {
  const { column } = header
  const { className, head, width, isHeadHidden } = column.columnDef.meta ?? {}
  const sorted = column.getIsSorted()
  const Arrow = sorted === 'desc' ? ArrowDown : ArrowUp
  const name = rendered(column.columnDef.header, header.getContext())
  return (
    <th
      scope="col"
      role={isReshaped ? 'columnheader' : undefined}
      aria-sort={sorted ? SORTED[sorted] : undefined}
      style={width === undefined ? undefined : { width }}
      className={cx('h-9 px-4 font-medium whitespace-nowrap', className, head)}
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
      ) : isHeadHidden ? (
        <span className="sr-only">{name}</span>
      ) : (
        name
      )}
    </th>
  )
}

type CellsProps<T extends RowData> = { row: TableRow<T>; isReshaped?: boolean; className?: string }

/** The cells of the columns that are shown, in their order. */
export function Cells<T extends RowData>({ row, isReshaped, className }: CellsProps<T>) {
  return row.getVisibleCells().map((cell) => (
    <td key={cell.id} role={isReshaped ? 'cell' : undefined} className={cx(className, cellLook(cell))}>
      {rendered(cell.column.columnDef.cell, cell.getContext())}
    </td>
  ))
}

function cellLook<T extends RowData>({ column, row }: Cell<Features, T>): string {
  const { className, cell } = column.columnDef.meta ?? {}
  return cx(className, typeof cell === 'function' ? cell(row as never) : cell)
}

/** Called, not mounted as a component, so that a page can define columns while it renders without losing the state of the cells. */
const rendered = <C,>(part: ReactNode | ((context: C) => ReactNode), context: C): ReactNode =>
  typeof part === 'function' ? part(context) : part

/** Forwards and backwards through a list of the API. */
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
