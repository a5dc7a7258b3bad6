import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { AlertRule, Channel, ChannelTypeInfo, MonitorAlertRules } from '#contract/alerts.ts'
import type { Alert, AlertInFull, Incident, IncidentEntry } from '#contract/incidents.ts'
import type { MaintenanceWindow } from '#contract/maintenance.ts'
import type { PlannedChange } from '#contract/planned-changes.ts'
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

export const incidentEntriesQuery = (id: string) =>
  queryOptions({
    queryKey: ['incidents', 'timeline', id],
    queryFn: ({ signal }) =>
      api.get<Page<IncidentEntry>>(`/incidents/${id}/timeline`, { ...ALL, order_way: 'desc' }, signal),
    refetchInterval: ASK_MS,
  })

/** Asked for again with the monitor: its first result can make rules apply. */
export const monitorRulesQuery = (id: string) =>
  queryOptions({
    queryKey: ['monitors', 'one', id, 'alert rules'],
    queryFn: async ({ signal }) => (await api.get<MonitorAlertRules>(`/monitors/${id}/alert-rules`, {}, signal)).data,
    // Rules are edited on another page.
    staleTime: 0,
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

export const windowsQuery = queryOptions({
  queryKey: ['maintenance windows'],
  queryFn: ({ signal }) =>
    api.get<Page<MaintenanceWindow>>('/maintenance-windows', { ...ALL, order_way: 'desc' }, signal),
  refetchInterval: 60_000,
})

/** Those that are active now and include the monitor. */
export const windowsOfMonitorQuery = (monitor: string) =>
  queryOptions({
    queryKey: ['maintenance windows', monitor],
    queryFn: ({ signal }) =>
      api.get<Page<MaintenanceWindow>>('/maintenance-windows', { monitor_id: monitor, is_active: true }, signal),
    refetchInterval: 60_000,
  })

export const changesQuery = (search: Query) =>
  queryOptions({
    queryKey: ['planned changes', cursorOf(search)],
    queryFn: ({ signal }) =>
      api.get<Page<PlannedChange>>('/planned-changes', { limit: PAGE, order_way: 'desc', ...cursorOf(search) }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: ASK_MS,
  })

/** The newest one of a monitor. */
export const changeOfMonitorQuery = (monitor: string) =>
  queryOptions({
    queryKey: ['planned changes', 'monitor', monitor],
    queryFn: async ({ signal }) => {
      const query = { monitor_id: monitor, order_way: 'desc', limit: 1 }
      return (await api.get<Page<PlannedChange>>('/planned-changes', query, signal)).data[0] ?? null
    },
    refetchInterval: ASK_MS,
  })
