import { type QueryClient, queryOptions } from '@tanstack/react-query'
import type { Group } from '#contract/groups.ts'
import type { NewView, View } from '#contract/views.ts'
import { api, type Page } from '../api.ts'
import { knownColumns, type Look } from './list-appearance.ts'
import { filterOf, type ListSearch, listSearchOf, ORDER } from './list-query.ts'

const MOST = 100

/** All of the organization, by name. */
export const viewsQuery = queryOptions({
  queryKey: ['views'],
  queryFn: async ({ signal }) => {
    const views: View[] = []
    for (let after: string | null | undefined; after !== null; ) {
      const page: Page<View> = await api.get('/views', { limit: MOST, order_by: 'name', after }, signal)
      views.push(...page.data)
      after = page.after
    }
    return views
  },
  staleTime: 30_000,
})

export const refreshViews = (queries: QueryClient) => queries.invalidateQueries({ queryKey: ['views'] })

/** What is shown, as a view. A group is kept by its id, because its slug can change. */
export function viewOf(
  search: ListSearch,
  { columns, density }: Look,
  groups: readonly Group[],
): Omit<NewView, 'name'> {
  const filter = filterOf(search)
  const group = groups.find(({ slug }) => slug === filter.group)?.id ?? filter.group
  return {
    filter: { ...filter, ...(group === undefined ? {} : { group }) },
    order_by: (search.order ?? ORDER) as NonNullable<NewView['order_by']>,
    order_way: search.way === 'desc' ? 'desc' : 'asc',
    columns: columns ? [...columns] : null,
    density,
  }
}

/** The address of the list with the filters and the order of a view. */
export function searchOfView({ id, filter, order_by, order_way }: View, groups: readonly Group[]): ListSearch {
  const { record_type, external_id, is_active, group, ...rest } = filter
  const slug = groups.find((each) => each.id === group)?.slug ?? group
  return listSearchOf({
    ...rest,
    type: record_type,
    id: external_id,
    active: is_active === undefined ? undefined : String(is_active),
    group: slug,
    ...(order_by === ORDER ? {} : { order: order_by }),
    ...(order_way === 'desc' ? { way: order_way } : {}),
    view: id,
  })
}

/** How a view looks. Where it has no density, that of this browser. */
export function lookOfView({ columns, density }: View, here: Look): Look {
  const known = knownColumns(columns)
  return { density: density ?? here.density, ...(known ? { columns: known } : {}) }
}

/** Whether the list shows what the view has. */
export function isShown(view: View, search: ListSearch, look: Look, groups: readonly Group[]): boolean {
  const sorted = ({ filter, ...rest }: Omit<NewView, 'name'>) => {
    const entries = Object.entries(filter ?? {}).sort(([one], [other]) => (one < other ? -1 : 1))
    return JSON.stringify([entries, rest.order_by, rest.order_way, rest.columns, rest.density])
  }
  const { filter, order_by, order_way, columns } = view
  const density = view.density ?? look.density
  return sorted(viewOf(search, look, groups)) === sorted({ filter, order_by, order_way, columns, density })
}
