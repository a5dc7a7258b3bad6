import type { MonitorAnswer } from '#contract/monitors.ts'
import { Head } from '../ui/table.tsx'
import { Tick } from './list-parts.tsx'
import { type ListSearch, ORDER, orderedBy } from './list-query.ts'
import type { Selection } from './list-selection.ts'

type HeadProps = {
  rows: readonly MonitorAnswer[]
  search: ListSearch
  onSearch: (search: ListSearch) => void
  selection: Selection
  canChange: boolean
  onTickAll: () => void
}

/** The names of the columns, which stay in sight, with the order and the tick for all. */
export function ListHead({ rows, search, onSearch, selection, canChange, onTickAll }: HeadProps) {
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
        <Head className="w-37 px-2!" sort={sort('state')}>
          State
        </Head>
        <Head className="px-3!" sort={sort('domain')}>
          Name
        </Head>
        <Head className="w-18 px-3!" sort={sort('record_type')}>
          Type
        </Head>
        <Head className="px-3!">Value</Head>
        <Head className="hidden w-30 px-3! min-[90rem]:table-cell">Group</Head>
        <Head className="w-32 px-3!" sort={sort('last_checked')}>
          Last checked
        </Head>
        <Head className="hidden w-22 px-3! text-right xl:table-cell" sort={sort('incidence_count')}>
          Changes
        </Head>
        <Head className="w-12 rounded-tr-lg px-1!" hidden="Actions" />
      </tr>
    </thead>
  )
}
