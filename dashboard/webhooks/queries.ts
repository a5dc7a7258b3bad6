import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { LoggedRequest, ReplayCounts, SentBody } from '#contract/dashboard.ts'
import type { Event } from '#contract/events.ts'
import type { Group } from '#contract/groups.ts'
import type { QueuedRequests, Webhook, WebhookRequest, WebhookRequestDetails } from '#contract/webhooks.ts'
import { api, type Page, type Query } from '../api.ts'

const PAGE_SIZE = 25

export const webhooksQuery = (search: Query) =>
  queryOptions({
    queryKey: ['webhooks', 'list', filterOf(search), cursorOf(search)],
    queryFn: ({ signal }) =>
      api.get<Page<Webhook>>(
        '/webhooks',
        { limit: PAGE_SIZE, order_by: 'created', order_way: 'desc', ...filterOf(search), ...cursorOf(search) },
        signal,
      ),
    placeholderData: keepPreviousData,
  })

/** In the API, "disabled" is not a state but the field is_active. */
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

/** The first hundred groups by name, for choices and labels. */
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
        { limit: PAGE_SIZE, order_by: 'created', order_way: 'desc', status: search.status, ...cursorOf(search) },
        signal,
      ),
    placeholderData: keepPreviousData,
  })

/** Failed and pending requests of all webhooks, newest first. */
export const undeliveredQuery = (search: Query) =>
  queryOptions({
    queryKey: ['requests', 'undelivered', search],
    queryFn: ({ signal }) =>
      api.get<Page<WebhookRequest>>(
        '/webhook-requests',
        { limit: PAGE_SIZE, order_way: 'desc', status: search.status, webhook_id: search.webhook, ...cursorOf(search) },
        signal,
      ),
    placeholderData: keepPreviousData,
  })

/** The newest hundred webhooks, for choices and labels. */
export const webhookChoiceQuery = queryOptions({
  queryKey: ['webhooks', 'choice'],
  queryFn: async ({ signal }) =>
    (await api.get<Page<Webhook>>('/webhooks', { limit: 100, order_way: 'desc' }, signal)).data,
})

/** Queued requests are counted up to this number. */
export const MAX_COUNTED = 1_000
export const queuedQuery = (webhook: string) =>
  queryOptions({
    queryKey: ['requests', webhook, 'kept'],
    queryFn: ({ signal }) => api.get<QueuedRequests>(`/dashboard/api/webhooks/${webhook}/kept`, {}, signal),
  })

/** The newest delivered request. */
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
    queryFn: ({ signal }) => api.get<WebhookRequestDetails>(`/webhooks/${webhook}/requests/${request}`, {}, signal),
  })

/** The body of every attempt. It never changes. */
export const bodyQuery = (webhook: string, request: string) =>
  queryOptions({
    queryKey: ['bodies', request],
    queryFn: ({ signal }) =>
      api.get<SentBody>(`/dashboard/api/webhooks/${webhook}/requests/${request}/body`, {}, signal),
    staleTime: Number.POSITIVE_INFINITY,
  })

/** The number of requests of a period by status. */
export const replayCountsQuery = (webhook: string, since: string | undefined, until: string | undefined) =>
  queryOptions({
    queryKey: ['requests', webhook, 'replay', since, until],
    enabled: since !== undefined,
    queryFn: ({ signal }) =>
      api.get<ReplayCounts>(`/dashboard/api/webhooks/${webhook}/replay`, { since, until }, signal),
    placeholderData: keepPreviousData,
  })

/** A request is created with its event, but its time is read a little later. */
const TOLERANCE_MS = 60_000

export type NotifiedEvent = Pick<Event, 'domain' | 'old_state' | 'new_state'>

/** The events of a page of requests, by their time, in one request. */
export function eventsOfQuery(requests: readonly WebhookRequest[]) {
  const createdTimes = requests.filter(({ event_id }) => event_id !== null).map(({ created }) => Date.parse(created))
  const from = Math.min(...createdTimes) - TOLERANCE_MS
  const to = Math.max(...createdTimes) + TOLERANCE_MS
  return queryOptions({
    queryKey: ['events', 'of requests', from, to],
    enabled: createdTimes.length > 0,
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

/** The events from the payloads, for those that are deleted or not among the found ones. They never change. */
export function payloadsQuery(requests: readonly WebhookRequest[]) {
  const ids = requests.map(({ id }) => id)
  return queryOptions({
    queryKey: ['payloads', ids],
    enabled: ids.length > 0,
    queryFn: async ({ signal }) => {
      const getRequest = ({ webhook_id, id }: WebhookRequest) =>
        api.get<WebhookRequestDetails>(`/webhooks/${webhook_id}/requests/${id}`, {}, signal)
      const loaded = await Promise.all(requests.map(getRequest))
      return new Map<string, NotifiedEvent>(
        loaded.flatMap(({ payload }) => eventsOf(payload).map((event) => [event.id, event])),
      )
    },
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
  })
}

/** The events of monitors in a payload: one, those of a batch, or none of a request about a zone. */
export const eventsOf = (payload: WebhookRequestDetails['payload']): Event[] =>
  'events' in payload ? payload.events.map(({ event }) => event) : 'event' in payload ? [payload.event] : []
