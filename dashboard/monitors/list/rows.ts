import { type QueryClient, type UseQueryResult, useQueries, useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import { ApiProblem, api } from '../../api.ts'
import { useSession } from '../../session.tsx'
import { joinPages, type LoadedPages, neededCursors } from './pages.ts'
import { type ListSearch, listQuery, type MonitorPage } from './query.ts'

const REFRESH_MS = 30_000

export type MonitorList = LoadedPages & {
  /** No page is loaded yet; `rows` are still those of the previous list. */
  isLoading: boolean
  problem: unknown
  retry: () => void
  /** Sets the visible rows. Their pages are kept current, and the next page is fetched in time. */
  show: (first: number, last: number) => void
}

/**
 * The matching monitors, page by page. Only visible pages are observed, so that a change costs one or two requests, however far
 * the user has scrolled. The others are fetched again when they become visible.
 */
export function useMonitorList(search: ListSearch, include: string): MonitorList {
  const { organization } = useSession()
  const queries = useQueryClient()
  const query = listQuery(search, include)
  const list = `${organization.id} ${JSON.stringify(query)}`
  const version = useVersion(queries, list)
  // The version changes with the pages in the cache.
  const loaded = useMemo(
    () => joinPages((cursor) => queries.getQueryData<MonitorPage>(pageKey(list, cursor))),
    [queries, list, version],
  )
  const [visible, setVisible] = useState({ list, first: 0, last: 0 })
  const { first, last } = visible.list === list ? visible : { first: 0, last: 0 }
  const show = useCallback((from: number, to: number) => setVisible({ list, first: from, last: to }), [list])
  const pageQuery = (cursor: string | null) => ({
    queryKey: pageKey(list, cursor),
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      api.get<MonitorPage>('/monitors', { ...query, after: cursor }, signal),
    // Dropping an invisible page would move the rows below it.
    gcTime: Number.POSITIVE_INFINITY,
    retry: (count: number, error: Error) => isTransient(error) && count < 5,
    retryDelay: (count: number, error: Error) => retryAfterMs(error) ?? 500 * 2 ** count,
  })
  const { problem, retry } = useQueries({
    queries: neededCursors(loaded, first, last).map((cursor) => ({
      ...pageQuery(cursor),
      refetchInterval: REFRESH_MS,
    })),
    combine: combineResults,
  })
  const isLoading = loaded.segments.length === 0 && !problem
  const previous = useRef<LoadedPages>(loaded)
  useEffect(() => {
    if (isLoading) return
    previous.current = loaded
    removeOtherLists(queries, list)
  }, [queries, list, loaded, isLoading])
  return { ...(isLoading ? { ...previous.current, next: undefined } : loaded), isLoading, problem, retry, show }
}

const pageKey = (list: string, cursor: string | null) => ['monitors', 'list', list, cursor] as const

/** Keeps the pages of one list only. */
function removeOtherLists(queries: QueryClient, list: string): void {
  queries.removeQueries({
    predicate: ({ queryKey: [resource, kind, name] }) => resource === 'monitors' && kind === 'list' && name !== list,
  })
}

const isTransient = (error: unknown) => error instanceof ApiProblem && [0, 429, 503].includes(error.status)
const retryAfterMs = (error: unknown) =>
  error instanceof ApiProblem && error.retryAfter !== undefined ? error.retryAfter * 1000 : undefined

/** Outside of the component, because a new function would create a new result at each render. */
function combineResults(results: readonly UseQueryResult<MonitorPage>[]) {
  return {
    problem: results.find(({ error }) => error)?.error ?? undefined,
    retry: () => {
      for (const result of results) if (result.isError) void result.refetch()
    },
  }
}

/** Increases whenever a page in this list is loaded or removed. */
function useVersion(queries: QueryClient, list: string): number {
  const count = useRef(0)
  const subscribe = useCallback(
    (notify: () => void) =>
      queries.getQueryCache().subscribe((event) => {
        const [resource, kind, name] = event.query.queryKey
        if (resource !== 'monitors' || kind !== 'list' || name !== list) return
        const isNew = event.type === 'updated' && event.action.type === 'success'
        if (!isNew && event.type !== 'removed') return
        count.current += 1
        notify()
      }),
    [queries, list],
  )
  return useSyncExternalStore(subscribe, () => count.current)
}
