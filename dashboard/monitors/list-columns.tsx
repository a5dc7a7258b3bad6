import type { ReactNode } from 'react'
import { METADATA_PREFIX } from '#contract/labels.ts'
import { State } from '../ui/state.tsx'
import { type ColumnId, columnsOf, type FieldColumn, isMetadata, type Look } from './list-appearance.ts'
import { Name, Since, Values } from './list-parts.tsx'
import { monitorHref, ownerOf } from './list-query.ts'
import type { RowProps } from './list-row.tsx'

export type Column = {
  id: ColumnId
  label: string
  /** The API's name for the order by it. */
  order?: string
  /** In pixels; the columns without one share the rest. */
  width?: number
  /** Of its cells and its head. */
  className: string
  /** From which width of the window on it is shown where nobody chose the columns, and the class that does it. */
  roomy?: { from: string; className: string }
  cell: (props: RowProps) => ReactNode
}

const FIELDS: Record<FieldColumn, Omit<Column, 'id'>> = {
  state: {
    label: 'State',
    order: 'state',
    width: 148,
    className: 'px-2!',
    cell: ({ monitor: { state, is_active } }) => (
      <span className="flex">
        <State state={state} isActive={is_active} />
      </span>
    ),
  },
  name: {
    label: 'Name',
    order: 'name',
    className: 'truncate px-3!',
    cell: ({ monitor, onOpen }) => (
      <a
        href={monitorHref(monitor.id)}
        data-cell="name"
        title={ownerOf(monitor)}
        onClick={(event) => onOpen(monitor.id, event)}
        className="rounded-sm -outline-offset-2 hover:underline"
      >
        <Name monitor={monitor} />
      </a>
    ),
  },
  record_type: {
    label: 'Type',
    order: 'record_type',
    width: 72,
    className: 'px-3!',
    cell: ({ monitor }) => <span className="text-xs font-medium text-soft">{monitor.record_type}</span>,
  },
  expected_value: {
    label: 'Value',
    className: 'px-3! text-soft',
    cell: ({ monitor }) => <Values monitor={monitor} />,
  },
  group: {
    label: 'Group',
    width: 120,
    className: 'truncate px-3! text-soft',
    roomy: { from: '90rem', className: 'hidden min-[90rem]:table-cell' },
    cell: ({ group }) => group,
  },
  tags: {
    label: 'Tags',
    width: 160,
    className: 'truncate px-3! text-soft',
    cell: ({ monitor: { tags = [] } }) => <span title={tags.join(', ')}>{tags.join(', ')}</span>,
  },
  external_id: {
    label: 'External id',
    width: 160,
    className: 'truncate px-3! font-mono text-xs text-soft',
    cell: ({ monitor: { external_id } }) => <span title={external_id ?? undefined}>{external_id}</span>,
  },
  frequency: {
    label: 'Interval',
    width: 88,
    className: 'px-3! text-soft tabular-nums',
    cell: ({ monitor: { frequency } }) => frequency && `${frequency} min`,
  },
  last_checked: {
    label: 'Last checked',
    order: 'last_checked',
    width: 128,
    className: 'truncate px-3! text-soft',
    cell: ({ monitor, now }) => <Since at={monitor.last_checked} now={now} />,
  },
  incidence_count: {
    label: 'Changes',
    order: 'incidence_count',
    width: 92,
    className: 'px-3! text-right text-soft tabular-nums',
    roomy: { from: '80rem', className: 'hidden xl:table-cell' },
    cell: ({ monitor }) => monitor.incidence_count.toLocaleString(),
  },
  created: {
    label: 'Created',
    order: 'created',
    width: 112,
    className: 'truncate px-3! text-soft',
    cell: ({ monitor, now }) => <Since at={monitor.created} now={now} />,
  },
}

export const fieldLabel = (id: FieldColumn): string => FIELDS[id].label

function columnOf(id: ColumnId): Column {
  if (!isMetadata(id)) return { id, ...FIELDS[id] }
  const key = id.slice(METADATA_PREFIX.length)
  return {
    id,
    label: key,
    width: 140,
    className: 'truncate px-3! text-soft',
    cell: ({ monitor: { metadata } }) => <span title={metadata?.[key]}>{metadata?.[key]}</span>,
  }
}

/** Those that are shown. What somebody chose is there on every screen. */
export const shownColumns = (look: Look): Column[] =>
  columnsOf(look).map((id) => {
    const { roomy, className, ...column } = columnOf(id)
    return { ...column, className: look.columns || !roomy ? className : `${className} ${roomy.className}` }
  })

/** The look with the columns that are on this screen, for a choice to begin with. */
export function lookHere(look: Look): Look {
  if (look.columns) return look
  const isHere = ({ roomy }: Column) => !roomy || matchMedia(`(min-width: ${roomy.from})`).matches
  return { ...look, columns: columnsOf(look).filter((id) => isHere(columnOf(id))) }
}

const CONTROLS = 92
const SHARING = 180

/** Below this width the list scrolls sideways. */
export const widthOf = (columns: readonly Column[]): number =>
  columns.reduce((sum, { width = SHARING }) => sum + width, CONTROLS)
