import {
  infiniteQueryOptions,
  keepPreviousData,
  queryOptions,
  useMutation,
  useQueryClient,
} from '@tanstack/react-query'
import type { Incident, IncidentChange, IncidentEntry } from '#contract/incidents.ts'
import type { MonitorResponse } from '#contract/monitors.ts'
import { api, type Page, type Query } from '../api.ts'

const PAGE_SIZE = 25
/** The stream of changes does not include these. */
const POLL_MS = 5_000

export const incidentPath = (id: string): string => `/incidents/${encodeURIComponent(id)}`

export const incidentsQuery = ({ after, before, group }: Query) =>
  queryOptions({
    queryKey: ['incidents', { after, before }, group],
    queryFn: ({ signal }) =>
      api.get<Page<Incident>>('/incidents', { limit: PAGE_SIZE, order_way: 'desc', group, after, before }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: POLL_MS,
  })

export const incidentQuery = (id: string) =>
  queryOptions({
    queryKey: ['incidents', 'one', id],
    queryFn: ({ signal }) => api.get<Incident>(incidentPath(id), {}, signal),
    refetchInterval: POLL_MS,
  })

/** The open incident in which the monitor fails; null if there is none. */
export const incidentOfMonitorQuery = (monitor: string) =>
  queryOptions({
    queryKey: ['incidents', 'monitor', monitor],
    queryFn: async ({ signal }) =>
      (await api.get<Page<Incident>>('/incidents', { monitor_id: monitor }, signal)).data[0] ?? null,
    refetchInterval: POLL_MS,
  })

export const incidentMonitorsQuery = (id: string, { after, before }: Query) =>
  queryOptions({
    queryKey: ['monitors', 'incident', id, { after, before }],
    queryFn: ({ signal }) =>
      api.get<Page<MonitorResponse>>(
        `${incidentPath(id)}/monitors`,
        { limit: PAGE_SIZE, order_by: 'name', after, before },
        signal,
      ),
    placeholderData: keepPreviousData,
  })

const ENTRIES = { limit: 100, order_way: 'desc' }

/** Newest first. */
export const incidentEntriesQuery = (id: string) =>
  infiniteQueryOptions({
    queryKey: ['incidents', 'timeline', id],
    queryFn: ({ pageParam, signal }) =>
      api.get<Page<IncidentEntry>>(`${incidentPath(id)}/timeline`, { ...ENTRIES, after: pageParam }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ after }) => after,
    refetchInterval: POLL_MS,
  })

export function useIncidentChange({ id }: Pick<Incident, 'id'>) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: (body: IncidentChange) => api.patch<Incident>(incidentPath(id), body),
    onSuccess: async () => {
      await Promise.all(
        ['incidents', 'alerts', 'overview'].map((key) => queries.invalidateQueries({ queryKey: [key] })),
      )
    },
  })
}
