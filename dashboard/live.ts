import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { LiveChange } from '#contract/dashboard.ts'
import { addressHere } from './api.ts'
import { askServer, connectionNow, noteLife, onConnection, SILENT_MS } from './connection.ts'

/** How often the page asks for what it shows while there is no stream of changes. */
const POLL_MS = 10_000
/** A stream that was refused, or that says nothing any more, is opened again after this. */
const REOPEN_MS = 10_000

/** Keeps what is on the screen current, without reloading: by the server's stream of changes, else by asking. */
export function useLive(organization: string): void {
  const queries = useQueryClient()
  useEffect(() => {
    const refreshAll = () => void queries.invalidateQueries({ predicate: isShown })
    const closeStream = openStream(queries, refreshAll)
    let wasLost = false
    const stopListening = onConnection(() => {
      const { isLost } = connectionNow()
      if (wasLost && !isLost) refreshAll()
      wasLost = isLost
    })
    return () => {
      closeStream()
      stopListening()
    }
  }, [queries, organization])
}

/** Opens it again whenever it ends, also where the browser gives up or does not notice. Returns what closes it. */
function openStream(queries: QueryClient, refreshAll: () => void): () => void {
  let stream: EventSource
  let openedAt = 0
  /** When the stream last said something; 0 while there is none. */
  let saidAt = 0
  const open = () => {
    openedAt = Date.now()
    stream = new EventSource(addressHere('/dashboard/api/live'))
    const on = <T>(name: string, listener: (data: T) => void) =>
      stream.addEventListener(name, ({ data }: MessageEvent<string>) => {
        saidAt = Date.now()
        noteLife()
        listener(JSON.parse(data) as T)
      })
    stream.onopen = () => {
      // Whatever happened while there was no stream.
      if (saidAt === 0 && isReopened) refreshAll()
      isReopened = true
      saidAt = Date.now()
    }
    stream.onerror = () => {
      saidAt = 0
      void askServer()
    }
    on<LiveChange>('change', (change) => refresh(queries, change))
    // What is on the screen of one monitor says when it was last checked; lists are asked for again only when something changed.
    on<Pick<LiveChange, 'monitors'>>('checked', ({ monitors }) => {
      for (const id of monitors) void queries.invalidateQueries({ queryKey: ['monitors', 'one', id] })
    })
    on('beat', () => {})
  }
  let isReopened = false
  open()
  let polledAt = Date.now()
  const timer = setInterval(() => {
    const now = Date.now()
    if (saidAt > 0 && now - saidAt <= SILENT_MS) return
    saidAt = 0
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

const isShown = ({ queryKey }: { queryKey: readonly unknown[] }) => queryKey[0] !== 'me'

/**
 * Query keys begin with the name of the list they come from: ['monitors', …], ['events', …]. The overview is made of all.
 */
function refresh(queries: QueryClient, { lists }: LiveChange): void {
  void queries.invalidateQueries({
    predicate: ({ queryKey }) => queryKey[0] === 'overview' || lists.some((list) => list === queryKey[0]),
  })
}
