import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { WebhookRequestDetails } from '#contract/webhooks.ts'
import { requestQuery } from './queries.ts'

export type Attempt = WebhookRequestDetails['attempts'][number]

const POLL_MS = 400
/** An attempt ends within 45 seconds (DNS, connection, response). */
const OVERDUE_MS = 60_000

/** Polls for the attempt after number `after`. Undefined: waits for none. */
export function useAwaitedAttempt(webhook: string, request: string, after: number | undefined) {
  const queries = useQueryClient()
  const isAwaiting = after !== undefined
  const isOverdue = useIsOverdue(isAwaiting ? `${request} ${after}` : undefined)
  const awaitedAttempt = (data: WebhookRequestDetails | undefined): Attempt | undefined =>
    isAwaiting ? data?.attempts.findLast(({ number }) => number > after) : undefined
  const { data, error } = useQuery({
    ...requestQuery(webhook, request),
    enabled: isAwaiting,
    refetchInterval: ({ state }) => (isOverdue || awaitedAttempt(state.data) ? false : POLL_MS),
  })
  const attempt = awaitedAttempt(data)
  const number = attempt?.number
  useEffect(() => {
    if (number === undefined) return
    void queries.invalidateQueries({ queryKey: ['requests', webhook] })
    void queries.invalidateQueries({ queryKey: ['webhooks'] })
  }, [queries, webhook, number])
  return { data, error, attempt, isRunning: isAwaiting && !attempt && !isOverdue && !error, isOverdue }
}

/** Whether the wait named by `key` takes too long. */
function useIsOverdue(key: string | undefined): boolean {
  const [overdue, setOverdue] = useState<string>()
  useEffect(() => {
    if (key === undefined) return
    const timer = setTimeout(() => setOverdue(key), OVERDUE_MS)
    return () => clearTimeout(timer)
  }, [key])
  return key !== undefined && overdue === key
}
