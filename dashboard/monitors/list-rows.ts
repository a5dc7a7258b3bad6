import { type QueryClient, type UseQueryResult, useQueries, useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import { ApiProblem, api } from '../api.ts'
import { useSession } from '../session.tsx'
import { type Chain, chainOf, cursorsFor } from './list-pages.ts'
import { type ListSearch, listQuery, type MonitorPage } from './list-query.ts'

const REFRESH_MS = 30_000

export type MonitorList = Chain & {
  /** Nothing is known of it yet; `rows` are then those of the list before. */
  isLoading: boolean
  problem: unknown
  retry: () => void
  /** Tells which rows are on the screen: their pages are kept current, and the next one is fetched in time. */
  show: (first: number, last: number) => void
}

/**
 * The monitors that a search finds, page by page. `include`: what each has beside its own fields. Only pages on the screen are observed, so that a change costs one or two
 * requests however far someone scrolled; the others are fetched again when they come into view again.
 */
export function useMonitorList(search: ListSearch, include: string): MonitorList {
  const { organization } = useSession()
  const queries = useQueryClient()
  const query = listQuery(search, include)
  const list = `${organization.id} ${JSON.stringify(query)}`
  const version = useVersion(queries, list)
  // The version stands for the pages in the cache.
  const chain = useMemo(
    () => chainOf((cursor) => queries.getQueryData<MonitorPage>(keyOf(list, cursor))),
    [queries, list, version],
  )
  const [shown, setShown] = useState({ list, first: 0, last: 0 })
  const { first, last } = shown.list === list ? shown : { first: 0, last: 0 }
  const show = useCallback((from: number, to: number) => setShown({ list, first: from, last: to }), [list])
  const pageQuery = (cursor: string | null) => ({
    queryKey: keyOf(list, cursor),
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      api.get<MonitorPage>('/monitors', { ...query, after: cursor }, signal),
    // A page that is forgotten while it is out of sight would pull away the rows below it.
    gcTime: Number.POSITIVE_INFINITY,
    retry: (count: number, error: Error) => isPassing(error) && count < 5,
    retryDelay: (count: number, error: Error) => waitFor(error) ?? 500 * 2 ** count,
  })
  const { problem, retry } = useQueries({
    queries: cursorsFor(chain, first, last).map((cursor) => ({
      ...pageQuery(cursor),
      refetchInterval: REFRESH_MS,
    })),
    combine: together,
  })
  const isLoading = chain.segments.length === 0 && !problem
  const before = useRef<Chain>(chain)
  useEffect(() => {
    if (isLoading) return
    before.current = chain
    forgetOthers(queries, list)
  }, [queries, list, chain, isLoading])
  return { ...(isLoading ? { ...before.current, next: undefined } : chain), isLoading, problem, retry, show }
}

const keyOf = (list: string, cursor: string | null) => ['monitors', 'list', list, cursor] as const

/** One list is kept at a time. */
function forgetOthers(queries: QueryClient, list: string): void {
  queries.removeQueries({
    predicate: ({ queryKey: [of, kind, name] }) => of === 'monitors' && kind === 'list' && name !== list,
  })
}

const isPassing = (error: unknown) => error instanceof ApiProblem && [0, 429, 503].includes(error.status)
const waitFor = (error: unknown) =>
  error instanceof ApiProblem && error.retryAfter !== undefined ? error.retryAfter * 1000 : undefined

/** Outside of the component: a new function each time would make a new result each time. */
function together(results: readonly UseQueryResult<MonitorPage>[]) {
  return {
    problem: results.find(({ error }) => error)?.error ?? undefined,
    retry: () => {
      for (const result of results) if (result.isError) void result.refetch()
    },
  }
}

/** Counts the pages of this list that came or went. */
function useVersion(queries: QueryClient, list: string): number {
  const count = useRef(0)
  const subscribe = useCallback(
    (notify: () => void) =>
      queries.getQueryCache().subscribe((event) => {
        const [of, kind, name] = event.query.queryKey
        if (of !== 'monitors' || kind !== 'list' || name !== list) return
        const isNew = event.type === 'updated' && event.action.type === 'success'
        if (!isNew && event.type !== 'removed') return
        count.current += 1
        notify()
      }),
    [queries, list],
  )
  return useSyncExternalStore(subscribe, () => count.current)
}
