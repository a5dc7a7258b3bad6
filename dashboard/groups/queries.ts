import { infiniteQueryOptions, keepPreviousData, type QueryClient, queryOptions } from '@tanstack/react-query'
import type { GroupResponse } from '#contract/groups.ts'
import type { MonitorResponse } from '#contract/monitors.ts'
import type { Webhook } from '#contract/webhooks.ts'
import { api, type Page } from '../api.ts'
import { LABELS_INCLUDE } from '../labels/labels-draft.ts'

const PAGE_SIZE = 100
/** Counts change with every check, and checks send no signal to the dashboard. */
const REFRESH_MS = 30_000
/** The number of monitors on the page of a group. */
export const MONITORS_SHOWN = 8

export const groupPath = (group: string): string => `/groups/${encodeURIComponent(group)}`

/** Matching groups with the states of their monitors. */
export const groupsQuery = (search: string | undefined) =>
  infiniteQueryOptions({
    queryKey: ['groups', 'list', search],
    queryFn: ({ pageParam, signal }) => {
      const query = { limit: PAGE_SIZE, order_by: 'name', include: 'counts', search, after: pageParam }
      return api.get<Page<GroupResponse>>('/groups', query, signal)
    },
    initialPageParam: null as string | null,
    getNextPageParam: ({ after }) => after,
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  })

/** By slug or id, with its labels. */
export const groupQuery = (group: string) =>
  queryOptions({
    queryKey: ['groups', 'one', group],
    queryFn: ({ signal }) => api.get<GroupResponse>(groupPath(group), { include: LABELS_INCLUDE }, signal),
  })

export const groupMonitorsQuery = (group: string) =>
  queryOptions({
    queryKey: ['monitors', 'of-group', group],
    queryFn: ({ signal }) =>
      api.get<Page<MonitorResponse>>(
        `${groupPath(group)}/monitors`,
        { limit: MONITORS_SHOWN, order_by: 'domain' },
        signal,
      ),
  })

/** Webhooks that can be attached to a group. A group has at most as many. */
export const webhooksQuery = queryOptions({
  queryKey: ['webhooks', 'to-attach'],
  queryFn: ({ signal }) => api.get<Page<Webhook>>('/webhooks', { limit: PAGE_SIZE }, signal),
})

export function refreshGroups(queries: QueryClient): Promise<unknown> {
  const lists = ['groups', 'webhooks', 'monitors', 'overview']
  return Promise.all(lists.map((list) => queries.invalidateQueries({ queryKey: [list] })))
}
