import { useQuery } from '@tanstack/react-query'
import type { Overview } from '#contract/dashboard.ts'
import type { MonitorCounts } from '#contract/monitor-list.ts'
import { api } from '../api.ts'
import { type ListSearch, otherFilters } from './list-query.ts'

/** Counts of all monitors by state; the same request as the overview's page makes. */
export function useOverview(): Overview | undefined {
  return useQuery({
    queryKey: ['overview'],
    queryFn: ({ signal }) => api.get<Overview>('/dashboard/api/overview', {}, signal),
  }).data
}

/** How many monitors of each state the list's other filters leave. Without such filters the overview has the numbers. */
export function useCounts(overview: Overview | undefined, search: ListSearch): MonitorCounts | undefined {
  const filters = otherFilters(search)
  const isNarrowed = Object.values(filters).some((value) => value !== undefined)
  const { data } = useQuery({
    queryKey: ['monitors', 'counts', filters],
    enabled: isNarrowed,
    queryFn: ({ signal }) => api.get<MonitorCounts>('/monitors/counts', filters, signal),
  })
  return isNarrowed ? data : overview && { ...overview, is_partial: false }
}
