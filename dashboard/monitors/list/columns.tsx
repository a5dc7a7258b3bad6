import { MoreHorizontal } from 'lucide-react'
import type { MouseEvent, ReactNode } from 'react'
import { METADATA_PREFIX, metadataValue } from '#contract/labels.ts'
import type { MonitorResponse } from '#contract/monitors.ts'
import { visible } from '#contract/visible-text.ts'
import { recordName } from '#contract/wording.ts'
import { State } from '../../ui/state.tsx'
import type { Column, TableModel, TableRow } from '../../ui/table.tsx'
import { UptimeBar } from '../../uptime/list-bar.tsx'
import { isCheckLate, stateNote } from '../state-note.ts'
import {
  COLUMN_IDS,
  type ColumnId,
  columnIds,
  type FieldColumn,
  isMetadata,
  type ListAppearance,
} from './appearance.ts'
import { LightCheckbox, Name, TimeAgo, Values } from './parts.tsx'
import { monitorHref } from './query.ts'

/** What cells need besides the monitor. */
export type ListContext = {
  /** The current time of the table. */
  now: number
  groupName: (slug: string | undefined) => string
  canChange: boolean
  /** All monitors that match are selected, loaded or not. */
  isMatching: boolean
  onSelectAll: (isOn: boolean) => void
  onOpen: (id: string, event: MouseEvent) => void
  onMenu: (monitor: MonitorResponse, anchor: HTMLElement) => void
}

export type MinWidth = '80rem' | '90rem'

type Field = {
  label: string
  isSortable?: boolean
  /** Pixels. Columns without a width share the remaining space. */
  width?: number
  /** For cells and header. */
  className: string
  /** The window width from which the default columns include it. */
  minWidth?: MinWidth
  cell: (monitor: MonitorResponse, list: ListContext) => ReactNode
}

const FIELDS: Record<FieldColumn, Field> = {
  state: {
    label: 'State',
    isSortable: true,
    width: 148,
    className: 'px-2!',
    cell: (monitor, { now }) => (
      <span className="flex">
        <State state={monitor.state} isActive={monitor.is_active} note={stateNote(monitor, now)} />
      </span>
    ),
  },
  name: {
    label: 'Name',
    isSortable: true,
    className: 'truncate px-3!',
    cell: (monitor, { onOpen }) => (
      <a
        href={monitorHref(monitor.id)}
        data-cell="name"
        title={recordName(monitor)}
        onClick={(event) => onOpen(monitor.id, event)}
        className="rounded-sm -outline-offset-2 hover:underline"
      >
        <Name monitor={monitor} />
      </a>
    ),
  },
  record_type: {
    label: 'Type',
    isSortable: true,
    width: 72,
    className: 'px-3!',
    cell: (monitor) => <span className="text-xs font-medium text-soft">{monitor.record_type}</span>,
  },
  expected_value: {
    label: 'Value',
    className: 'px-3! text-soft',
    cell: (monitor) => <Values monitor={monitor} />,
  },
  group: {
    label: 'Group',
    width: 120,
    className: 'truncate px-3! text-soft',
    minWidth: '90rem',
    cell: ({ group }, { groupName }) => groupName(group),
  },
  tags: {
    label: 'Tags',
    width: 160,
    className: 'truncate px-3! text-soft',
    cell: ({ tags = [] }) => <span title={tags.join(', ')}>{tags.join(', ')}</span>,
  },
  external_id: {
    label: 'External id',
    width: 160,
    className: 'truncate px-3! font-mono text-xs text-soft',
    cell: ({ external_id }) => <span title={external_id ?? undefined}>{external_id}</span>,
  },
  frequency: {
    label: 'Interval',
    width: 88,
    className: 'px-3! text-soft tabular-nums',
    cell: ({ frequency }) => frequency && `${frequency} min`,
  },
  uptime: {
    label: '30 days',
    width: 124,
    className: 'px-3!',
    minWidth: '80rem',
    cell: (monitor) => <UptimeBar monitor={monitor} />,
  },
  last_checked: {
    label: 'Last checked',
    width: 148,
    className: 'truncate px-3! text-soft',
    cell: (monitor, { now }) => <TimeAgo at={monitor.last_checked} now={now} isLate={isCheckLate(monitor, now)} />,
  },
  incidence_count: {
    label: 'Changes',
    isSortable: true,
    width: 92,
    className: 'px-3! text-right text-soft tabular-nums',
    minWidth: '90rem',
    cell: (monitor) => monitor.incidence_count.toLocaleString(),
  },
  created: {
    label: 'Created',
    isSortable: true,
    width: 112,
    className: 'truncate px-3! text-soft',
    cell: (monitor, { now }) => <TimeAgo at={monitor.created} now={now} />,
  },
}

/** The selected columns, or the default ones that fit the window. */
export const visibleColumns = (appearance: ListAppearance, fitsWidth: Record<MinWidth, boolean>): readonly ColumnId[] =>
  appearance.columns ??
  columnIds(appearance).filter((id) => {
    const { minWidth } = fieldOf(id)
    return !minWidth || fitsWidth[minWidth]
  })

function fieldOf(id: ColumnId): Field {
  if (!isMetadata(id)) return FIELDS[id]
  const key = id.slice(METADATA_PREFIX.length)
  return {
    label: key,
    width: 140,
    className: 'truncate px-3! text-soft',
    cell: ({ metadata }) => {
      const value = visible(metadataValue(metadata, key) ?? '')
      return <span title={value}>{value}</span>
    },
  }
}

/** Checkbox, all fields, visible metadata, and menu. */
export const listColumns = (shown: readonly ColumnId[], list: ListContext): Column<MonitorResponse>[] => [
  {
    id: 'select',
    header: ({ table }) =>
      list.canChange ? <SelectAllCheckbox table={table} list={list} /> : <span className="sr-only">Selection</span>,
    meta: { className: 'px-0! pl-2!', headerClassName: 'rounded-tl-lg font-normal', width: 44 },
    cell: ({ row }) => list.canChange && <RowCheckbox row={row} isMatching={list.isMatching} />,
  },
  ...[...new Set([...COLUMN_IDS, ...shown])].map((id): Column<MonitorResponse> => {
    const { label, isSortable = false, width, className, cell } = fieldOf(id)
    return {
      id,
      header: label,
      accessorFn: (monitor) => monitor[id as keyof MonitorResponse],
      enableSorting: isSortable,
      // The name is always visible.
      enableHiding: id !== 'name',
      meta: { className, width },
      cell: ({ row }) => cell(row.original, list),
    }
  }),
  {
    id: 'menu',
    header: 'Actions',
    meta: { className: 'px-1!', headerClassName: 'rounded-tr-lg', width: 48, isHeaderHidden: true },
    cell: ({ row }) => <MenuButton monitor={row.original} onMenu={list.onMenu} />,
  },
]

/** The visible columns without checkbox and menu. */
export const visibleFields = (table: TableModel<MonitorResponse>): { id: string; label: string }[] =>
  table.getVisibleLeafColumns().flatMap(({ id, columnDef: { header } }) => {
    return id !== 'menu' && typeof header === 'string' ? [{ id, label: header }] : []
  })

/** Selects all loaded rows, or none. */
export function SelectAllCheckbox({ table, list }: { table: TableModel<MonitorResponse>; list: ListContext }) {
  const isAll = table.getIsAllRowsSelected()
  return (
    <LightCheckbox
      label="Select all loaded monitors"
      isOn={isAll}
      isIndeterminate={!isAll && table.getIsSomeRowsSelected()}
      onChange={(event) => {
        table.getToggleAllRowsSelectedHandler()(event)
        list.onSelectAll(event.target.checked)
      }}
    />
  )
}

/** The table handles ranges with Shift. */
export const RowCheckbox = ({ row, isMatching }: { row: TableRow<MonitorResponse>; isMatching: boolean }) => (
  <LightCheckbox
    label={`Select ${recordName(row.original)} ${row.original.record_type}`}
    isOn={isMatching || row.getIsSelected()}
    cell="select"
    onChange={row.getToggleSelectedHandler()}
  />
)

/** The table has one menu for all rows. */
export function MenuButton({ monitor, onMenu }: { monitor: MonitorResponse; onMenu: ListContext['onMenu'] }) {
  return (
    <button
      type="button"
      data-cell="menu"
      aria-label={`Actions for ${recordName(monitor)} ${monitor.record_type}`}
      aria-haspopup="menu"
      onClick={(event) => onMenu(monitor, event.currentTarget)}
      className="grid size-8 place-items-center rounded-md text-faint hover:bg-sunken hover:text-ink"
    >
      <MoreHorizontal className="size-4" aria-hidden="true" />
    </button>
  )
}

const FLEXIBLE_WIDTH = 180

/** A narrower list scrolls horizontally. */
export const tableMinWidth = (table: TableModel<MonitorResponse>): number =>
  table.getVisibleLeafColumns().reduce((sum, { columnDef }) => sum + (columnDef.meta?.width ?? FLEXIBLE_WIDTH), 0)
