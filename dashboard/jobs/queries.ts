import { keepPreviousData, queryOptions, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { Job, JobResult, NewJob } from '#contract/jobs.ts'
import type { PlannedChangeCounts } from '#contract/planned-changes.ts'
import { api, type Page, type Query } from '../api.ts'

const PAGE_SIZE = 25
const RUNNING_POLL_MS = 500
const POLL_MS = 5_000

const cursorOf = ({ after, before }: Query): Query => ({ after, before })

export const jobsQuery = (search: Query) =>
  queryOptions({
    queryKey: ['jobs', cursorOf(search)],
    queryFn: ({ signal }) =>
      api.get<Page<Job>>('/jobs', { limit: PAGE_SIZE, order_way: 'desc', ...cursorOf(search) }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => (state.data?.data.some(isRunning) ? RUNNING_POLL_MS * 2 : POLL_MS),
  })

/** Polled until it has ended. */
export const jobQuery = (id: string) =>
  queryOptions({
    queryKey: ['jobs', 'one', id],
    queryFn: ({ signal }) => api.get<Job>(`/jobs/${id}`, {}, signal),
    refetchInterval: ({ state }) => (state.data && !isRunning(state.data) ? false : RUNNING_POLL_MS),
  })

export const resultsQuery = (job: Job, query: Query) =>
  queryOptions({
    queryKey: ['jobs', 'results', job.id, job.finished, query],
    queryFn: ({ signal }) => api.get<Page<JobResult>>(`/jobs/${job.id}/results`, query, signal),
    placeholderData: keepPreviousData,
  })

/** How far the changes are that a job planned. They go on for weeks after the job has ended. */
export const plannedCountsQuery = (job: string) =>
  queryOptions({
    queryKey: ['jobs', 'planned changes', job],
    queryFn: ({ signal }) => api.get<PlannedChangeCounts>('/planned-changes/counts', { job_id: job }, signal),
    refetchInterval: POLL_MS,
  })

export const isRunning = ({ finished }: Job): boolean => finished === null

export const createJob = (body: NewJob) => api.post<Job>('/jobs', body)
export const cancelJob = (id: string) => api.post<Job>(`/jobs/${id}/cancel`)
export const undoJob = (id: string) => api.post<Job>(`/jobs/${id}/undo`)

/** Refetches the lists when the job has ended. */
export function useRefreshAfterJob(job: Job | undefined): void {
  const queries = useQueryClient()
  const endedAt = job && !job.dry_run ? job.finished : null
  useEffect(() => {
    if (endedAt === null) return
    for (const list of ['monitors', 'groups', 'overview', 'requests'])
      void queries.invalidateQueries({ queryKey: [list] })
  }, [queries, endedAt])
}
