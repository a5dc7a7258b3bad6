import { useQuery } from '@tanstack/react-query'
import type { Overview } from '#contract/dashboard.ts'
import { api } from '../api.ts'

/** Counts of all monitors by state; the same request as the overview's page makes. */
export function useOverview(): Overview | undefined {
  return useQuery({
    queryKey: ['overview'],
    queryFn: ({ signal }) => api.get<Overview>('/dashboard/api/overview', {}, signal),
  }).data
}
