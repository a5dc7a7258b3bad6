import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { AlertRule, Channel, ChannelTypeInfo } from '#contract/alerts.ts'
import type { Alert, AlertInFull, Incident } from '#contract/incidents.ts'
import { api, type Page, type Query } from '../api.ts'

const PAGE = 25
/** An organization has at most 100 channels and 50 rules. */
const ALL = { limit: 100 }
/** Checks and loops change these, and no stream says so. */
const ASK_MS = 5_000

export const channelTypesQuery = queryOptions({
  queryKey: ['channel types'],
  queryFn: async ({ signal }) => (await api.get<{ data: ChannelTypeInfo[] }>('/channel-types', {}, signal)).data,
  staleTime: Number.POSITIVE_INFINITY,
})

export const channelsQuery = queryOptions({
  queryKey: ['channels'],
  queryFn: ({ signal }) => api.get<Page<Channel>>('/channels', ALL, signal),
})

export const rulesQuery = queryOptions({
  queryKey: ['alert rules'],
  queryFn: ({ signal }) => api.get<Page<AlertRule>>('/alert-rules', ALL, signal),
})

const cursorOf = ({ after, before }: Query): Query => ({ after, before })

export const incidentsQuery = (search: Query) =>
  queryOptions({
    queryKey: ['incidents', cursorOf(search)],
    queryFn: ({ signal }) =>
      api.get<Page<Incident>>('/incidents', { limit: PAGE, order_way: 'desc', ...cursorOf(search) }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: ASK_MS,
  })

export const incidentQuery = (id: string) =>
  queryOptions({
    queryKey: ['incidents', 'one', id],
    queryFn: ({ signal }) => api.get<Incident>(`/incidents/${id}`, {}, signal),
    refetchInterval: ASK_MS,
  })

export const alertsQuery = (search: Query) =>
  queryOptions({
    queryKey: ['alerts', cursorOf(search), search.incident],
    queryFn: ({ signal }) =>
      api.get<Page<Alert>>(
        '/alerts',
        { limit: PAGE, order_way: 'desc', incident_id: search.incident, ...cursorOf(search) },
        signal,
      ),
    placeholderData: keepPreviousData,
    refetchInterval: ASK_MS,
  })

export const alertQuery = (id: string) =>
  queryOptions({
    queryKey: ['alerts', 'one', id],
    queryFn: ({ signal }) => api.get<AlertInFull>(`/alerts/${id}`, {}, signal),
  })
