import type { SortingState } from '@tanstack/react-table'
import type { NewJob } from '#contract/jobs.ts'
import { METADATA_PARAMETER, METADATA_PREFIX } from '#contract/labels.ts'
import type { MonitorResponse } from '#contract/monitors.ts'
import type { Page, Query } from '../../api.ts'
import { pickSearch } from '../../search.ts'

/** The values of a comma-separated parameter. */
export const splitList = (list: string | undefined): string[] => list?.split(',').filter((part) => part !== '') ?? []

/** Filters by these states. Disabled monitors are excluded, because their state is not current. */
export function withStates({ state: _, active, ...rest }: ListSearch, states: readonly string[]): ListSearch {
  if (states.length > 0) return { ...rest, state: [...new Set(states)].join(','), active: 'true' }
  return active === undefined || active === 'true' ? rest : { ...rest, active }
}

/** Filters by monitors that have all of these tags. */
export function withTags({ tag: _, ...rest }: ListSearch, tags: readonly string[]): ListSearch {
  return tags.length > 0 ? { ...rest, tag: [...new Set(tags)].join(',') } : rest
}

/** `parameter`: in the API. `token`: the key in the search field, by default the name. `hint`: of a filter that can be typed there. */
type Filter = { parameter?: string; token?: string; hint?: string }

/** The filters by their name in the address of the page, in the order of their chips. */
const FILTERS = {
  search: {},
  state: { hint: 'State, for example state:mismatch' },
  type: { parameter: 'record_type', hint: 'Record type, for example type:MX' },
  value: { hint: 'Expected value, for example value:192.0.2.1' },
  active: { parameter: 'is_active' },
  tag: { hint: 'Tag, for example tag:prod' },
  customer: { hint: 'Customer, for example customer:acme' },
  group: { hint: 'Group, for example group:shop' },
  incident: { hint: 'Incident, for example incident:inc_01kaj3x7v8q2n5m4r6t9w0y1zb' },
  full_domain: {},
  domain: {},
  subdomain: {},
  id: { parameter: 'external_id', token: 'external_id', hint: 'External id, for example external_id:customer-300/www' },
} as const satisfies Record<string, Filter>
export type FilterName = keyof typeof FILTERS
export const LIST_FILTERS = (Object.entries(FILTERS) as [FilterName, Filter][]).map(
  ([name, { parameter = name, token = name, hint }]) => ({ name, parameter, token, hint }),
)
const OTHER_PARAMETERS = ['order', 'way', 'view'] as const
type MetadataFilter = `${typeof METADATA_PREFIX}${string}`
/**
 * The query string of the list. `state` and `tag` take several values, separated by commas. `view` is the id of the saved view.
 */
export type ListSearch = {
  [name in FilterName | (typeof OTHER_PARAMETERS)[number] | MetadataFilter]?: string
}

const filterNames = LIST_FILTERS.map(({ name }) => name)

const isMetadata = (name: string) => new RegExp(METADATA_PARAMETER).test(name)

/** For validateSearch: the known parameters. A bookmark may have the order of an older version. */
export function pickListSearch(search: Record<string, unknown>): ListSearch {
  const { order, ...picked }: ListSearch = pickSearch(
    ...filterNames,
    ...OTHER_PARAMETERS,
    ...metadataNames(search),
  )(search)
  return order === undefined || order === 'last_checked' ? picked : { ...picked, order }
}

const metadataNames = (search: object) => Object.keys(search).filter(isMetadata) as MetadataFilter[]

/** The filters by metadata: key and value. */
export const metadataOf = (search: ListSearch): [name: MetadataFilter, key: string, value: string][] =>
  metadataNames(search).map((name) => [name, name.slice(METADATA_PREFIX.length), search[name] ?? ''])

export type MonitorPage = Page<MonitorResponse>

const PAGE_SIZE = 100
export const ORDER = 'name'

/** The filters as API parameters. */
const filterQuery = (search: ListSearch): Query => ({
  ...Object.fromEntries(LIST_FILTERS.map(({ name, parameter }) => [parameter, search[name]])),
  ...Object.fromEntries(metadataOf(search).map(([name, , value]) => [name, value])),
})

/** The same without state and is_active. */
export const otherFilters = ({ state: _, active: __, ...search }: ListSearch): Query => filterQuery(search)

/** Filters and order as API parameters. */
export const orderedQuery = (listSearch: ListSearch): Query => ({
  ...filterQuery(listSearch),
  order_by: listSearch.order ?? ORDER,
  order_way: listSearch.way,
})

/** The API parameters of one page. */
export const listQuery = (search: ListSearch, include = 'frequency,group,wait'): Query => ({
  ...orderedQuery(search),
  include,
  limit: PAGE_SIZE,
})

/** The filters in the form of jobs and saved views. */
export function filterOf(search: ListSearch): NonNullable<NewJob['filter']> {
  const filters = { ...filterQuery(search), is_active: search.active && search.active === 'true' }
  return Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined))
}

/** The filters of a job or saved view in the form of the list. */
export const searchOf = (filter: NonNullable<NewJob['filter']>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(filter).map(([parameter, value]) => {
      const name = LIST_FILTERS.find((each) => each.parameter === parameter)?.name ?? parameter
      return [name, typeof value === 'boolean' ? String(value) : value]
    }),
  )

/** The target of a job for the filtered monitors. */
export function jobTarget(search: ListSearch): Pick<NewJob, 'filter' | 'all'> {
  const filter = filterOf(search)
  return Object.keys(filter).length === 0 ? { all: true } : { filter }
}

export const isFiltered = (search: ListSearch): boolean =>
  filterNames.some((name) => search[name] !== undefined) || metadataNames(search).length > 0

/** Removes the filters and keeps the order. */
export const withoutFilters = ({ order, way }: ListSearch): ListSearch => ({
  ...(order ? { order } : {}),
  ...(way ? { way } : {}),
})

/** The order in the form of TanStack Table: always one column. */
export const sortingOf = ({ order = ORDER, way }: ListSearch): SortingState => [{ id: order, desc: way === 'desc' }]

export function withSorting({ way: _, ...rest }: ListSearch, [column]: SortingState): ListSearch {
  return column ? { ...rest, order: column.id, ...(column.desc ? { way: 'desc' } : {}) } : rest
}

export const monitorHref = (id: string): string => `/dashboard/monitors/${id}`
