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

/** The filters as the API has them. The days that are named count whole; first results are shown to who asks for them. */
export function filtersOf({ group, old, new: next, since, until }: EventSearch): Query {
  const from = dayStart(since)
  const end = dayStart(until, 1)
  return {
    group,
    is_change: old === undefined || old === '' ? true : undefined,
    old_state: old,
    new_state: next,
    // The API leaves the instant itself out.
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
