import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import type { AlertRule, Channel, ChannelTypeInfo } from '#contract/alerts.ts'
import type { Alert, AlertInFull } from '#contract/incidents.ts'
import type { MaintenanceWindow } from '#contract/maintenance.ts'
import type { MonitorAlertRules } from '#contract/monitor-alert-rules.ts'
import type { PlannedChange } from '#contract/planned-changes.ts'
import { api, type Page, type Query } from '../api.ts'

const PAGE_SIZE = 25
/** An organization has at most 100 channels and 50 rules. */
const MAX_PAGE = { limit: 100 }
/** The stream of changes does not include these. */
const POLL_MS = 5_000

export const channelTypesQuery = queryOptions({
  queryKey: ['channel types'],
  queryFn: async ({ signal }) => (await api.get<{ data: ChannelTypeInfo[] }>('/channel-types', {}, signal)).data,
  staleTime: Number.POSITIVE_INFINITY,
})

export const channelsQuery = queryOptions({
  queryKey: ['channels'],
  queryFn: ({ signal }) => api.get<Page<Channel>>('/channels', MAX_PAGE, signal),
})

export const rulesQuery = queryOptions({
  queryKey: ['alert rules'],
  queryFn: ({ signal }) => api.get<Page<AlertRule>>('/alert-rules', MAX_PAGE, signal),
})

const cursorOf = ({ after, before }: Query): Query => ({ after, before })

/** Refetched with the monitor, because its first result can make rules apply. */
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
        { limit: PAGE_SIZE, order_way: 'desc', incident_id: search.incident, ...cursorOf(search) },
        signal,
      ),
    placeholderData: keepPreviousData,
    refetchInterval: POLL_MS,
  })

export const alertQuery = (id: string) =>
  queryOptions({
    queryKey: ['alerts', 'one', id],
    queryFn: ({ signal }) => api.get<AlertInFull>(`/alerts/${id}`, {}, signal),
  })

export const windowsQuery = queryOptions({
  queryKey: ['maintenance windows'],
  queryFn: ({ signal }) =>
    api.get<Page<MaintenanceWindow>>('/maintenance-windows', { ...MAX_PAGE, order_way: 'desc' }, signal),
  refetchInterval: 60_000,
})

/** The active windows that include the monitor. */
export const windowsOfMonitorQuery = (monitor: string) =>
  queryOptions({
    queryKey: ['maintenance windows', monitor],
    queryFn: ({ signal }) =>
      api.get<Page<MaintenanceWindow>>('/maintenance-windows', { monitor_id: monitor, is_active: true }, signal),
    refetchInterval: 60_000,
  })

/** All changes, or the open ones of a job. */
export const changesQuery = (search: Query) =>
  queryOptions({
    queryKey: ['planned changes', cursorOf(search), search.job],
    queryFn: ({ signal }) =>
      api.get<Page<PlannedChange>>(
        '/planned-changes',
        {
          ...{ limit: PAGE_SIZE, order_way: 'desc', ...cursorOf(search) },
          ...(search.job !== undefined && { job_id: search.job, is_open: true }),
        },
        signal,
      ),
    placeholderData: keepPreviousData,
    refetchInterval: POLL_MS,
  })

/** The newest change of a monitor. */
export const changeOfMonitorQuery = (monitor: string) =>
  queryOptions({
    queryKey: ['planned changes', 'monitor', monitor],
    queryFn: async ({ signal }) => {
      const query = { monitor_id: monitor, order_way: 'desc', limit: 1 }
      return (await api.get<Page<PlannedChange>>('/planned-changes', query, signal)).data[0] ?? null
    },
    refetchInterval: POLL_MS,
  })
