import type { MonitorAnswer } from '#contract/monitors.ts'
import { Head } from '../ui/table.tsx'
import type { Column } from './list-columns.tsx'
import { Tick } from './list-parts.tsx'
import { type ListSearch, ORDER, orderedBy } from './list-query.ts'
import type { Selection } from './list-selection.ts'

type HeadProps = {
  columns: readonly Column[]
  rows: readonly MonitorAnswer[]
  search: ListSearch
  onSearch: (search: ListSearch) => void
  selection: Selection
  canChange: boolean
  onTickAll: () => void
}

/** The names of the columns, which stay in sight, with the order and the tick for all. */
export function ListHead({ columns, rows, search, onSearch, selection, canChange, onTickAll }: HeadProps) {
  const sort = (order: string) => {
    const way =
      (search.order ?? ORDER) !== order ? undefined : search.way === 'desc' ? ('desc' as const) : ('asc' as const)
    return { way, onSort: () => onSearch(orderedBy(search, order)) }
  }
  const isAll = rows.length > 0 && selection.ids.size >= rows.length && rows.every(({ id }) => selection.ids.has(id))
  return (
    <thead className="sticky top-14 z-10 bg-surface text-xs text-faint shadow-[0_1px_0_var(--line)] lg:top-0">
      <tr>
        <th scope="col" className="w-11 rounded-tl-lg pl-2 font-normal">
          {canChange ? (
            <Tick
              label="Select all loaded monitors"
              isOn={isAll}
              isSome={!isAll && selection.ids.size > 0}
              onPress={onTickAll}
            />
          ) : (
            <span className="sr-only">Selection</span>
          )}
        </th>
        {columns.map(({ id, label, order, width, className }) => (
          <Head key={id} className={className} width={width} {...(order ? { sort: sort(order) } : {})}>
            {label}
          </Head>
        ))}
        <Head className="w-12 rounded-tr-lg px-1!" hidden="Actions" />
      </tr>
    </thead>
  )
}
