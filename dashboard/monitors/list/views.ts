import { type QueryClient, queryOptions } from '@tanstack/react-query'
import type { Group } from '#contract/groups.ts'
import type { NewView, View } from '#contract/views.ts'
import { api, type Page } from '../../api.ts'
import { knownColumns, type ListAppearance } from './appearance.ts'
import { filterOf, type ListSearch, ORDER, pickListSearch, searchOf } from './query.ts'

const PAGE_SIZE = 100

/** All views of the organization, by name. */
export const viewsQuery = queryOptions({
  queryKey: ['views'],
  queryFn: async ({ signal }) => {
    const views: View[] = []
    for (let after: string | null | undefined; after !== null; ) {
      const page: Page<View> = await api.get('/views', { limit: PAGE_SIZE, order_by: 'name', after }, signal)
      views.push(...page.data)
      after = page.after
    }
    return views
  },
  staleTime: 30_000,
})

export const refreshViews = (queries: QueryClient) => queries.invalidateQueries({ queryKey: ['views'] })

/** The current list as a view. It stores the id of the group, because the slug can change. */
export function viewOf(
  search: ListSearch,
  { columns, density }: ListAppearance,
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

/** The query string of the list for a view. */
export function searchOfView({ id, filter, order_by, order_way }: View, groups: readonly Group[]): ListSearch {
  const slug = groups.find((each) => each.id === filter.group)?.slug ?? filter.group
  return pickListSearch({
    ...searchOf(filter),
    group: slug,
    ...(order_by === ORDER ? {} : { order: order_by }),
    ...(order_way === 'desc' ? { way: order_way } : {}),
    view: id,
  })
}

/** The appearance of a view. Without a density, it keeps the current one. */
export function appearanceOfView({ columns, density }: View, current: ListAppearance): ListAppearance {
  const columnIds = knownColumns(columns)
  return { density: density ?? current.density, ...(columnIds ? { columns: columnIds } : {}) }
}

/** Whether the list has the filters, order, columns and density of the view. */
export function isUnchanged(
  view: View,
  search: ListSearch,
  appearance: ListAppearance,
  groups: readonly Group[],
): boolean {
  const canonical = ({ filter, ...rest }: Omit<NewView, 'name'>) => {
    const entries = Object.entries(filter ?? {}).sort(([one], [other]) => (one < other ? -1 : 1))
    return JSON.stringify([entries, rest.order_by, rest.order_way, rest.columns, rest.density])
  }
  const { filter, order_by, order_way, columns } = view
  const density = view.density ?? appearance.density
  return canonical(viewOf(search, appearance, groups)) === canonical({ filter, order_by, order_way, columns, density })
}
