import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { Event } from '#contract/events.ts'
import { api, type Page, type Query } from '../api.ts'
import { dayStart } from './days.ts'

/** The search parameters of the page. */
export type EventSearch = {
  group?: string
  old?: string
  new?: string
  since?: string
  until?: string
  after?: string
  before?: string
}

/** The filters as API parameters. Days are inclusive. First results are excluded unless the old state is filtered. */
export function filtersOf({ group, old, new: next, since, until }: EventSearch): Query {
  const from = dayStart(since)
  const end = dayStart(until, 1)
  return {
    group,
    is_change: old === undefined || old === '' ? true : undefined,
    old_state: old,
    new_state: next,
    // The API excludes the instant itself.
    occurred_after: from === undefined ? undefined : new Date(from - 1).toISOString(),
    occurred_before: end === undefined ? undefined : new Date(end).toISOString(),
  }
}

export const eventsQuery = (search: EventSearch) =>
  queryOptions({
    queryKey: ['events', 'feed', search],
    queryFn: ({ signal }) =>
      api.get<Page<Event>>(
        '/dashboard/api/events',
        { ...filtersOf(search), after: search.after, before: search.before, limit: 50, order_way: 'desc' },
        signal,
      ),
    placeholderData: keepPreviousData,
  })
