import { queryOptions } from '@tanstack/react-query'
import type { ServerStatus } from '#contract/server.ts'
import { api } from '../api.ts'

/** Instances report every 2 seconds; a person does not look more often than this. */
const REFRESH_MS = 5_000

export const serverQuery = queryOptions({
  queryKey: ['server'],
  queryFn: ({ signal }) => api.get<ServerStatus>('/dashboard/api/server', {}, signal),
  refetchInterval: REFRESH_MS,
})
