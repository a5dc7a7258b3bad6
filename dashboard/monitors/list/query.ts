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

const FILTERS = [
  'search',
  'state',
  'type',
  'value',
  'group',
  'active',
  'tag',
  'customer',
  'incident',
  'id',
  'domain',
  'subdomain',
  'full_domain',
] as const
const OTHER_PARAMETERS = ['order', 'way', 'view'] as const
type MetadataFilter = `${typeof METADATA_PREFIX}${string}`
/**
 * The query string of the list. `state` and `tag` take several values, separated by commas. `view` is the id of the saved view.
 */
export type ListSearch = {
  [name in (typeof FILTERS)[number] | (typeof OTHER_PARAMETERS)[number] | MetadataFilter]?: string
}

const isMetadata = (name: string) => new RegExp(METADATA_PARAMETER).test(name)

/** For validateSearch: the known parameters. A bookmark may have the order of an older version. */
export function pickListSearch(search: Record<string, unknown>): ListSearch {
  const { order, ...picked }: ListSearch = pickSearch(...FILTERS, ...OTHER_PARAMETERS, ...metadataNames(search))(search)
  return order === undefined || order === 'last_checked' ? picked : { ...picked, order }
}

const metadataNames = (search: object) => Object.keys(search).filter(isMetadata) as MetadataFilter[]

/** The filters by metadata: key and value. */
export const metadataOf = (search: ListSearch): [name: MetadataFilter, key: string, value: string][] =>
  metadataNames(search).map((name) => [name, name.slice(METADATA_PREFIX.length), search[name] ?? ''])

export type MonitorPage = Page<MonitorResponse>

const PAGE_SIZE = 100
export const ORDER = 'name'

/** The filters as API parameters, without state and is_active. */
export const otherFilters = (listSearch: ListSearch) => {
  const { search, type, value, group, tag, customer, incident, id, domain, subdomain, full_domain } = listSearch
  const metadata = Object.fromEntries(metadataOf(listSearch).map(([name, , value]) => [name, value]))
  const names = { domain, subdomain, full_domain }
  const others = { customer, incident, external_id: id }
  return { search, record_type: type, value, group, tag, ...others, ...names, ...metadata }
}

/** Filters and order as API parameters. */
export const orderedQuery = (listSearch: ListSearch): Query => ({
  ...otherFilters(listSearch),
  state: listSearch.state,
  is_active: listSearch.active,
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
export function filterOf({ state, active, ...rest }: ListSearch): NonNullable<NewJob['filter']> {
  const filters = { ...otherFilters(rest), state, is_active: active && active === 'true' }
  return Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined))
}

/** The target of a job for the filtered monitors. */
export function jobTarget(search: ListSearch): Pick<NewJob, 'filter' | 'all'> {
  const filter = filterOf(search)
  return Object.keys(filter).length === 0 ? { all: true } : { filter }
}

export const isFiltered = (search: ListSearch): boolean =>
  FILTERS.some((name) => search[name] !== undefined) || metadataNames(search).length > 0

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
