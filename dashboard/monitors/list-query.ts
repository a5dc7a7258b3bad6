import type { SortingState } from '@tanstack/react-table'
import type { NewJob } from '#contract/jobs.ts'
import { METADATA_PARAMETER, METADATA_PREFIX } from '#contract/labels.ts'
import type { MonitorResponse } from '#contract/monitors.ts'
import type { Page, Query } from '../api.ts'
import { pickSearch } from '../search.ts'

/** The parts of a parameter that takes several. */
export const severalOf = (list: string | undefined): string[] => list?.split(',').filter((part) => part !== '') ?? []

/** Only these states, each once. The state of a disabled monitor says nothing, so those are left out. */
export function withStates({ state: _, active, ...rest }: ListSearch, states: readonly string[]): ListSearch {
  if (states.length > 0) return { ...rest, state: [...new Set(states)].join(','), active: 'true' }
  return active === undefined || active === 'true' ? rest : { ...rest, active }
}

/** Only monitors with all of these tags. */
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
  'id',
  'domain',
  'subdomain',
  'full_domain',
] as const
const OTHERS = ['order', 'way', 'view'] as const
type MetadataFilter = `${typeof METADATA_PREFIX}${string}`
/**
 * What stands behind the `?` of the list's address. `state` and `tag`: several are separated by commas. `view`: the id of the saved view
 * that it began with.
 */
export type ListSearch = { [name in (typeof FILTERS)[number] | (typeof OTHERS)[number] | MetadataFilter]?: string }

const isMetadata = (name: string) => new RegExp(METADATA_PARAMETER).test(name)

/** The parameters of the address that the list knows. */
export const listSearchOf = (given: Record<string, unknown>): ListSearch =>
  pickSearch(...FILTERS, ...OTHERS, ...metadataNames(given))(given)

const metadataNames = (search: object) => Object.keys(search).filter(isMetadata) as MetadataFilter[]

/** The filters by metadata: key and value. */
export const metadataOf = (search: ListSearch): [name: MetadataFilter, key: string, value: string][] =>
  metadataNames(search).map((name) => [name, name.slice(METADATA_PREFIX.length), search[name] ?? ''])

export type MonitorPage = Page<MonitorResponse>

const SEGMENT = 100
export const ORDER = 'name'

/** The API's names of the filters, without the state. */
export const otherFilters = (given: ListSearch) => {
  const { search, type, value, group, tag, customer, id, domain, subdomain, full_domain } = given
  const metadata = Object.fromEntries(metadataOf(given).map(([name, , value]) => [name, value]))
  const names = { domain, subdomain, full_domain }
  return { search, record_type: type, value, group, tag, customer, external_id: id, ...names, ...metadata }
}

/** The API's parameters for the filters and the order. */
export const orderedQuery = (given: ListSearch): Query => ({
  ...otherFilters(given),
  state: given.state,
  is_active: given.active,
  order_by: given.order ?? ORDER,
  order_way: given.way,
})

/** The same for a page of it. */
export const listQuery = (search: ListSearch, include = 'frequency,group'): Query => ({
  ...orderedQuery(search),
  include,
  limit: SEGMENT,
})

/** The filters as jobs and saved views have them. */
export function filterOf({ state, active, ...rest }: ListSearch): NonNullable<NewJob['filter']> {
  const all = { ...otherFilters(rest), state, is_active: active && active === 'true' }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}

/** The same monitors, for a job. */
export function jobTarget(search: ListSearch): Pick<NewJob, 'filter' | 'all'> {
  const filter = filterOf(search)
  return Object.keys(filter).length === 0 ? { all: true } : { filter }
}

export const isFiltered = (search: ListSearch): boolean =>
  FILTERS.some((name) => search[name] !== undefined) || metadataNames(search).length > 0

/** The address without its filters; the order stays. */
export const withoutFilters = ({ order, way }: ListSearch): ListSearch => ({
  ...(order ? { order } : {}),
  ...(way ? { way } : {}),
})

/** The order as the table has it: one column, which is always ordered by. */
export const sortingOf = ({ order = ORDER, way }: ListSearch): SortingState => [{ id: order, desc: way === 'desc' }]

export function withSorting({ way: _, ...rest }: ListSearch, [sorted]: SortingState): ListSearch {
  return sorted ? { ...rest, order: sorted.id, ...(sorted.desc ? { way: 'desc' } : {}) } : rest
}

export const ownerOf = ({ subdomain, domain }: { subdomain: string; domain: string }): string =>
  subdomain === '' ? domain : `${subdomain}.${domain}`

export const monitorHref = (id: string): string => `/dashboard/monitors/${id}`
