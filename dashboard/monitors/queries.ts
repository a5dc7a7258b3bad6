import { infiniteQueryOptions, keepPreviousData, queryOptions, useQueryClient } from '@tanstack/react-query'
import type { MonitorChecks } from '#contract/checks.ts'
import type { Timeline, TimelineRange, ValueDifference } from '#contract/dashboard.ts'
import type { Event, EventDetails } from '#contract/events.ts'
import type { MonitorResponse } from '#contract/monitors.ts'
import { api, type Page } from '../api.ts'

export type MonitorDetails = MonitorResponse
export type { EventDetails }

export const monitorPath = (id: string): string => `/monitors/${encodeURIComponent(id)}`

/** What a user sees of a monitor before changing it from a menu. */
export const SEEN_FIELDS = [
  ...(['domain', 'subdomain', 'record_type', 'expected_value', 'is_exact_match'] as const),
  ...(['is_active', 'notify'] as const),
] as const

/** The monitor, and the differences that the server found. */
export const monitorQuery = (id: string) =>
  queryOptions({
    queryKey: ['monitors', 'one', id],
    queryFn: async ({ signal }) => {
      const [monitor, difference] = await Promise.all([
        api.get<MonitorDetails>(
          monitorPath(id),
          { include: 'frequency,group,diagnosis,wait,external_id,tags,metadata' },
          signal,
        ),
        api.get<ValueDifference>(`/dashboard/api${monitorPath(id)}/difference`, {}, signal),
      ])
      return { monitor, difference }
    },
  })

export const timelineQuery = (id: string, range: TimelineRange) =>
  queryOptions({
    queryKey: ['events', 'timeline', id, range],
    queryFn: ({ signal }) => api.get<Timeline>(`/dashboard/api${monitorPath(id)}/timeline`, { range }, signal),
    placeholderData: keepPreviousData,
    // The range ends now.
    refetchInterval: 60_000,
  })

export const checksQuery = (id: string) =>
  queryOptions({
    queryKey: ['monitors', 'one', id, 'checks'],
    queryFn: ({ signal }) => api.get<MonitorChecks>(`${monitorPath(id)}/checks`, {}, signal),
  })

/** Newest first. */
export const historyQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: ['events', 'monitor', id],
    queryFn: ({ pageParam, signal }) =>
      api.get<Page<Event>>(`${monitorPath(id)}/events`, { limit: 20, order_way: 'desc', after: pageParam }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ after }) => after,
  })

export const eventQuery = (monitor: string, event: string) =>
  queryOptions({
    queryKey: ['events', 'one', monitor, event],
    queryFn: ({ signal }) =>
      api.get<EventDetails>(
        `${monitorPath(monitor)}/events/${encodeURIComponent(event)}`,
        { include: 'diagnosis' },
        signal,
      ),
  })

/** The event of the monitor before this one, with its evidence; null if there is none, or if it was deleted. */
export const eventBeforeQuery = (monitor: string, { id, occurred }: Pick<EventDetails, 'id' | 'occurred'>) =>
  queryOptions({
    queryKey: ['events', 'before', monitor, id],
    queryFn: async ({ signal }) => {
      const query = { order_way: 'desc', limit: 1, occurred_before: occurred }
      const { data } = await api.get<Page<Event>>(`${monitorPath(monitor)}/events`, query, signal)
      const [before] = data
      if (!before) return null
      const path = `${monitorPath(monitor)}/events/${encodeURIComponent(before.id)}`
      return await api.get<EventDetails>(path, { include: 'diagnosis' }, signal)
    },
  })

/** Refetches everything that a change of a monitor can affect. */
export function useRefresh(): () => Promise<void> {
  const queries = useQueryClient()
  return async () => {
    const lists = ['monitors', 'events', 'groups', 'overview']
    await queries.invalidateQueries({ predicate: ({ queryKey }) => lists.includes(String(queryKey[0])) })
  }
}
