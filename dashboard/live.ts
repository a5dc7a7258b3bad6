import { type QueryClient, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { LiveChange } from '#contract/dashboard.ts'
import { addressHere } from './api.ts'

/** How often the page asks itself while the stream of changes is broken. */
const POLL_MS = 15_000

/** Keeps what is on the screen current, without reloading: by the server's stream of changes, else by asking. */
export function useLive(organization: string): void {
  const queries = useQueryClient()
  useEffect(() => {
    let poll: ReturnType<typeof setInterval> | undefined
    const stream = new EventSource(addressHere('/dashboard/api/live'))
    stream.onopen = () => {
      if (poll) void queries.invalidateQueries({ predicate: isShown })
      clearInterval(poll)
      poll = undefined
    }
    stream.onerror = () => {
      poll ??= setInterval(() => void queries.invalidateQueries({ predicate: isShown }), POLL_MS)
    }
    stream.addEventListener('change', ({ data }: MessageEvent<string>) =>
      refresh(queries, JSON.parse(data) as LiveChange),
    )
    // What is on the screen of one monitor says when it was last checked; lists are asked for again only when something changed.
    stream.addEventListener('checked', ({ data }: MessageEvent<string>) => {
      const { monitors } = JSON.parse(data) as Pick<LiveChange, 'monitors'>
      for (const id of monitors) void queries.invalidateQueries({ queryKey: ['monitors', 'one', id] })
    })
    return () => {
      stream.close()
      clearInterval(poll)
    }
  }, [queries, organization])
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
