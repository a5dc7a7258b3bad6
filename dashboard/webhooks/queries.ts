import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { LoggedRequest, ReplayCounts, SentBody } from '#contract/dashboard.ts'
import type { Event } from '#contract/events.ts'
import type { Group } from '#contract/groups.ts'
import type { KeptRequests, Webhook, WebhookRequest, WebhookRequestInFull } from '#contract/webhooks.ts'
import { api, type Page, type Query } from '../api.ts'
import { eventsIn } from './events-in.ts'

const PAGE = 25

export const webhooksQuery = (search: Query) =>
  queryOptions({
    queryKey: ['webhooks', 'list', filterOf(search), cursorOf(search)],
    queryFn: ({ signal }) =>
      api.get<Page<Webhook>>(
        '/webhooks',
        { limit: PAGE, order_by: 'created', order_way: 'desc', ...filterOf(search), ...cursorOf(search) },
        signal,
      ),
    placeholderData: keepPreviousData,
  })

/** "Disabled" is not a state of the API but a field of its own. */
function filterOf({ state }: Query): Query {
  if (state === 'disabled') return { is_active: false }
  return state ? { state, is_active: true } : {}
}
const cursorOf = ({ after, before }: Query): Query => ({ after, before })

export const webhookQuery = (id: string) =>
  queryOptions({
    queryKey: ['webhooks', 'one', id],
    queryFn: ({ signal }) => api.get<Webhook>(`/webhooks/${id}`, {}, signal),
  })

/** The first hundred groups, by name: enough to choose from and to tell names. */
export const groupsQuery = queryOptions({
  queryKey: ['groups', 'choice'],
  queryFn: ({ signal }) => api.get<Page<Group>>('/groups', { limit: 100, order_by: 'name' }, signal),
  staleTime: 60_000,
})

export const requestsQuery = (webhook: string, search: Query) =>
  queryOptions({
    queryKey: ['requests', webhook, 'list', search],
    queryFn: ({ signal }) =>
      api.get<Page<LoggedRequest>>(
        `/dashboard/api/webhooks/${webhook}/requests`,
        { limit: PAGE, order_by: 'created', order_way: 'desc', status: search.status, ...cursorOf(search) },
        signal,
      ),
    placeholderData: keepPreviousData,
  })

/** What failed and what waits, of all webhooks, the newest first. */
export const undeliveredQuery = (search: Query) =>
  queryOptions({
    queryKey: ['requests', 'undelivered', search],
    queryFn: ({ signal }) =>
      api.get<Page<WebhookRequest>>(
        '/webhook-requests',
        { limit: PAGE, order_way: 'desc', status: search.status, webhook_id: search.webhook, ...cursorOf(search) },
        signal,
      ),
    placeholderData: keepPreviousData,
  })

/** The newest hundred webhooks: enough to choose from and to name requests. */
export const webhookChoiceQuery = queryOptions({
  queryKey: ['webhooks', 'choice'],
  queryFn: async ({ signal }) =>
    (await api.get<Page<Webhook>>('/webhooks', { limit: 100, order_way: 'desc' }, signal)).data,
})

/** How many requests wait now, counted up to this number, and how many that waited were dropped. */
export const MOST_COUNTED = 1_000
export const keptQuery = (webhook: string) =>
  queryOptions({
    queryKey: ['requests', webhook, 'kept'],
    queryFn: ({ signal }) => api.get<KeptRequests>(`/dashboard/api/webhooks/${webhook}/kept`, {}, signal),
  })

/** The newest delivered request: until when all was well. */
export const lastDeliveredQuery = (webhook: string) =>
  queryOptions({
    queryKey: ['requests', webhook, 'last delivered'],
    queryFn: async ({ signal }) => {
      const query = { limit: 1, status: 'DELIVERED', order_by: 'last_attempt', order_way: 'desc' }
      return (await api.get<Page<WebhookRequest>>(`/webhooks/${webhook}/requests`, query, signal)).data[0] ?? null
    },
  })

export const requestQuery = (webhook: string, request: string) =>
  queryOptions({
    queryKey: ['requests', webhook, 'one', request],
    queryFn: ({ signal }) => api.get<WebhookRequestInFull>(`/webhooks/${webhook}/requests/${request}`, {}, signal),
  })

/** The body that every attempt sends; it never changes. */
export const bodyQuery = (webhook: string, request: string) =>
  queryOptions({
    queryKey: ['bodies', request],
    queryFn: ({ signal }) =>
      api.get<SentBody>(`/dashboard/api/webhooks/${webhook}/requests/${request}/body`, {}, signal),
    staleTime: Number.POSITIVE_INFINITY,
  })

/** How many requests of a period there are of each status. */
export const replayCountsQuery = (webhook: string, since: string | undefined, until: string | undefined) =>
  queryOptions({
    queryKey: ['requests', webhook, 'replay', since, until],
    enabled: since !== undefined,
    queryFn: ({ signal }) =>
      api.get<ReplayCounts>(`/dashboard/api/webhooks/${webhook}/replay`, { since, until }, signal),
    placeholderData: keepPreviousData,
  })

/** A minute either way: a request is made in the transaction of its event, but its clock is read a little later. */
const AROUND_MS = 60_000

export type NotifiedEvent = Pick<Event, 'domain' | 'old_state' | 'new_state'>

/** What the requests of a page tell of: the events of their time, found in one question. */
export function eventsOfQuery(requests: readonly WebhookRequest[]) {
  const made = requests.filter(({ event_id }) => event_id !== null).map(({ created }) => Date.parse(created))
  const from = Math.min(...made) - AROUND_MS
  const to = Math.max(...made) + AROUND_MS
  return queryOptions({
    queryKey: ['events', 'of requests', from, to],
    enabled: made.length > 0,
    queryFn: async ({ signal }) => {
      const query = { occurred_after: instant(from), occurred_before: instant(to), limit: 100, order_way: 'desc' }
      const { data } = await api.get<Page<Event>>('/events', query, signal)
      return new Map<string, NotifiedEvent>(data.map((event) => [event.id, event]))
    },
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  })
}
const instant = (ms: number) => new Date(ms).toISOString()

/** The same, read from the requests themselves: for events that are no longer kept, or lost among many others. Never changes. */
export function payloadsQuery(requests: readonly WebhookRequest[]) {
  const ids = requests.map(({ id }) => id)
  return queryOptions({
    queryKey: ['payloads', ids],
    enabled: ids.length > 0,
    queryFn: async ({ signal }) => {
      const read = ({ webhook_id, id }: WebhookRequest) =>
        api.get<WebhookRequestInFull>(`/webhooks/${webhook_id}/requests/${id}`, {}, signal)
      const found = await Promise.all(requests.map(read))
      return new Map<string, NotifiedEvent>(
        found.flatMap(({ payload }) => eventsIn(payload).map((event) => [event.id, event])),
      )
    },
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
  })
}
