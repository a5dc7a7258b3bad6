import type { NewJob } from '#contract/jobs.ts'
import type { MonitorAnswer } from '#contract/monitors.ts'
import type { Page, Query } from '../api.ts'

/** The filters of the list in its address. `state` and `tag`: several are separated by commas. */
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

const FILTERS = ['search', 'state', 'type', 'group', 'active', 'tag', 'customer', 'id'] as const
/** What stands behind the `?` of the list's address. */
export type ListSearch = { [name in (typeof FILTERS)[number] | 'order' | 'way']?: string }
export type MonitorPage = Page<MonitorAnswer>

export const SEGMENT = 100
export const ORDER = 'domain'

/** The API's names of the filters, without the state. */
export const otherFilters = ({ search, type, group, tag, customer, id }: ListSearch) => ({
  search,
  record_type: type,
  group,
  tag,
  customer,
  external_id: id,
})

/** The API's parameters for it. */
export const listQuery = ({ state, active, order, way, ...rest }: ListSearch): Query => ({
  ...otherFilters(rest),
  state,
  is_active: active,
  order_by: order ?? ORDER,
  order_way: way,
  include: 'frequency,group',
  limit: SEGMENT,
})

/** The same monitors, for a job. */
export function jobTarget({ state, active, ...rest }: ListSearch): Pick<NewJob, 'filter' | 'all'> {
  const filter = Object.fromEntries(
    Object.entries({ ...otherFilters(rest), state, is_active: active && active === 'true' }).filter(
      ([, value]) => value !== undefined,
    ),
  )
  return Object.keys(filter).length === 0 ? { all: true } : { filter: filter as NewJob['filter'] & object }
}

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
