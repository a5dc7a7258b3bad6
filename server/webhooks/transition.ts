import type { WebhookRequestsTable } from '../database/schema-webhooks.ts'
import type { AttemptResult } from './attempt.ts'
import { nextAttemptAt } from './retry-schedule.ts'

/** A paused webhook is tried with its oldest kept request this often. */
export const PROBE_MS = 60 * 60_000

/** Why an attempt is made: by the request's schedule, to see whether a paused webhook is back, or because a person asked. */
export type AttemptTrigger = 'schedule' | 'probe' | 'manual'

/** A request before an attempt. */
export type AttemptedRequest = {
  requestId: string
  /** An example change: one attempt, no retries. */
  isTest: boolean
  status: WebhookRequestsTable['status']
  /** Of the schedule's nine. */
  retries: number
  /** The schedule's next time; null when it has none any more. */
  nextAttemptAt: number | null
}

/** A request after an attempt. `nextAttemptAt` is null exactly when it is done with and leaves the queue. */
export type Transition = {
  status: WebhookRequestsTable['status']
  retries: number
  nextAttemptAt: number | null
  /** What the attempt says about the webhook, whatever state that is in. */
  webhook: 'resume' | 'pause' | 'keep'
}

/** What an attempt's result means for its request and its webhook. Pure; the tables and the picture are in docs/reference/webhooks.md. */
export function afterAttempt(
  before: AttemptedRequest,
  trigger: AttemptTrigger,
  result: Pick<AttemptResult, 'delivered' | 'gone' | 'retryAfterMs'>,
  now: number,
): Transition {
  const retries = before.retries + (trigger === 'schedule' && before.status === 'RETRYING' ? 1 : 0)
  if (result.delivered) return { status: 'DELIVERED', retries, nextAttemptAt: null, webhook: 'resume' }
  const webhook = result.gone ? 'pause' : 'keep'
  if (isSettled(before)) return { status: settledStatus(before), retries, nextAttemptAt: null, webhook }
  const waiting = { status: 'RETRYING', retries, webhook } as const
  switch (trigger) {
    case 'probe':
      // Uses up no retry and keeps its place: the request waits with the others until the webhook is active.
      return { ...waiting, nextAttemptAt: before.nextAttemptAt ?? now }
    case 'manual':
      if (before.nextAttemptAt !== null && before.nextAttemptAt > now) {
        return { ...waiting, nextAttemptAt: before.nextAttemptAt }
      }
      return { ...waiting, nextAttemptAt: next(before, before.retries, result, now) ?? now }
    case 'schedule': {
      const nextAt = next(before, retries, result, now)
      if (nextAt === null) return { status: 'FAILED', retries, nextAttemptAt: null, webhook: 'pause' }
      return { ...waiting, nextAttemptAt: result.gone ? now : nextAt }
    }
  }
}

/** Done with before this attempt, or a test, which is done with after it: a failure gives it no further one. */
const isSettled = ({ isTest, status }: AttemptedRequest) => isTest || status === 'DELIVERED' || status === 'FAILED'

const settledStatus = ({ status }: AttemptedRequest) => (status === 'DELIVERED' ? 'DELIVERED' : 'FAILED')

function next(
  { requestId }: AttemptedRequest,
  retries: number,
  { retryAfterMs }: { retryAfterMs?: number },
  now: number,
) {
  return nextAttemptAt({ retries, now, requestId, retryAfterMs })
}
