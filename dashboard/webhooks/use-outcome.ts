import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { WebhookRequestInFull } from '#contract/webhooks.ts'
import { requestQuery } from './queries.ts'

export type Attempt = WebhookRequestInFull['attempts'][number]

const ASK_MS = 400
/** An attempt ends within 45 seconds (looking up, connecting, answering); then something else is wrong. */
const PATIENCE_MS = 60_000

/** Waits for the attempt behind number `after`, asking often while it is in progress. Undefined: none is awaited. */
export function useOutcome(webhook: string, request: string, after: number | undefined) {
  const queries = useQueryClient()
  const isAwaiting = after !== undefined
  const isOverdue = useIsOverdue(isAwaiting ? `${request} ${after}` : undefined)
  const outcomeOf = (data: WebhookRequestInFull | undefined): Attempt | undefined =>
    isAwaiting ? data?.attempts.findLast(({ number }) => number > after) : undefined
  const { data, error } = useQuery({
    ...requestQuery(webhook, request),
    enabled: isAwaiting,
    refetchInterval: ({ state }) => (isOverdue || outcomeOf(state.data) ? false : ASK_MS),
  })
  const attempt = outcomeOf(data)
  const number = attempt?.number
  useEffect(() => {
    if (number === undefined) return
    void queries.invalidateQueries({ queryKey: ['requests', webhook] })
    void queries.invalidateQueries({ queryKey: ['webhooks'] })
  }, [queries, webhook, number])
  return { data, error, attempt, isUnderWay: isAwaiting && !attempt && !isOverdue && !error, isOverdue }
}

/** Whether what `wait` names has taken too long. */
function useIsOverdue(wait: string | undefined): boolean {
  const [overdue, setOverdue] = useState<string>()
  useEffect(() => {
    if (wait === undefined) return
    const timer = setTimeout(() => setOverdue(wait), PATIENCE_MS)
    return () => clearTimeout(timer)
  }, [wait])
  return wait !== undefined && overdue === wait
}
