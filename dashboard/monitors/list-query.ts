import type { MonitorAnswer } from '#contract/monitors.ts'
import type { Page, Query } from '../api.ts'

/** What stands behind the `?` of the list's address. */
export type ListSearch = {
  [name in 'search' | 'state' | 'type' | 'group' | 'active' | 'order' | 'way']?: string
}
export type MonitorPage = Page<MonitorAnswer>

export const SEGMENT = 100
export const ORDER = 'domain'

/** The API's parameters for it. */
export const listQuery = ({ search, state, type, group, active, order, way }: ListSearch): Query => ({
  search,
  state,
  record_type: type,
  group,
  is_active: active,
  order_by: order ?? ORDER,
  order_way: way,
  include: 'frequency,group',
  limit: SEGMENT,
})

const FILTERS = ['search', 'state', 'type', 'group', 'active'] as const
export const isFiltered = (search: ListSearch): boolean => FILTERS.some((name) => search[name] !== undefined)

/** The address without its filters; the order stays. */
export const withoutFilters = ({ order, way }: ListSearch): ListSearch => ({
  ...(order ? { order } : {}),
  ...(way ? { way } : {}),
})

/** The other way round where it is ordered by this already. */
export function orderedBy(search: ListSearch, order: string): ListSearch {
  const { way: _, ...rest } = search
  const isTurned = (search.order ?? ORDER) === order && search.way !== 'desc'
  return { ...rest, order, ...(isTurned ? { way: 'desc' } : {}) }
}

export const ownerOf = ({ subdomain, domain }: { subdomain: string; domain: string }): string =>
  subdomain === '' ? domain : `${subdomain}.${domain}`
