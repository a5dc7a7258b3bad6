import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { LiveChange } from '#contract/dashboard.ts'
import { organizationUrl } from './api.ts'
import { getConnection, pingServer, recordActivity, SILENCE_LIMIT_MS, subscribeToConnection } from './connection.ts'

/** How often the page polls while there is no stream. */
const POLL_MS = 10_000
/** A stream that was refused or is silent is opened again after this. */
const REOPEN_MS = 10_000

/** Keeps the page current: by the stream of changes, and by polling while there is none. */
export function useLive(organization: string): void {
  const queries = useQueryClient()
  useEffect(() => {
    const refreshAll = () => void queries.invalidateQueries({ predicate: isNotSession })
    const closeStream = openStream(queries, refreshAll)
    let wasLost = false
    const unsubscribe = subscribeToConnection(() => {
      const { isLost } = getConnection()
      if (wasLost && !isLost) refreshAll()
      wasLost = isLost
    })
    return () => {
      closeStream()
      unsubscribe()
    }
  }, [queries, organization])
}

/** Reopens the stream whenever it ends, also when the browser gives up or does not notice. Returns the function that closes it. */
function openStream(queries: QueryClient, refreshAll: () => void): () => void {
  let stream: EventSource
  let openedAt = 0
  let isReopened = false
  /** Time of the last message; 0 without a stream. */
  let lastMessageAt = 0
  const open = () => {
    openedAt = Date.now()
    stream = new EventSource(organizationUrl('/dashboard/api/live'))
    const on = <T>(name: string, listener: (data: T) => void) =>
      stream.addEventListener(name, ({ data }: MessageEvent<string>) => {
        lastMessageAt = Date.now()
        recordActivity()
        listener(JSON.parse(data) as T)
      })
    stream.onopen = () => {
      // Changes may have been missed while there was no stream.
      if (lastMessageAt === 0 && isReopened) refreshAll()
      isReopened = true
      lastMessageAt = Date.now()
    }
    stream.onerror = () => {
      lastMessageAt = 0
      void pingServer()
    }
    on<LiveChange>('change', (change) => refresh(queries, change))
    on('beat', () => {})
  }
  open()
  let polledAt = Date.now()
  const timer = setInterval(() => {
    const now = Date.now()
    if (lastMessageAt > 0 && now - lastMessageAt <= SILENCE_LIMIT_MS) return
    lastMessageAt = 0
    if (now - openedAt >= REOPEN_MS) {
      stream.close()
      open()
    }
    if (now - polledAt < POLL_MS) return
    polledAt = now
    refreshAll()
  }, 1_000)
  return () => {
    clearInterval(timer)
    stream.close()
  }
}

const isNotSession = ({ queryKey }: { queryKey: readonly unknown[] }) => queryKey[0] !== 'me'

/** A query key begins with the name of its list: ['monitors', …], ['events', …]. The overview depends on all lists. */
function refresh(queries: QueryClient, { lists }: LiveChange): void {
  void queries.invalidateQueries({
    predicate: ({ queryKey }) => queryKey[0] === 'overview' || lists.some((list) => list === queryKey[0]),
  })
}
