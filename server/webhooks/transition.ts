import type { WebhookRequestsTable } from '../database/schema-webhooks.ts'
import { nextRetryAt } from '../retry-schedule.ts'
import type { AttemptResult } from './attempt.ts'

/** How often a paused webhook is probed with its oldest queued request. */
export const PROBE_MS = 60 * 60_000

/** What triggers an attempt: the retry schedule, the probe of a paused webhook, or a user. */
export type AttemptTrigger = 'schedule' | 'probe' | 'manual'

/** A request before an attempt. */
export type AttemptedRequest = {
  requestId: string
  /** A test has one attempt and no retries. */
  isTest: boolean
  status: WebhookRequestsTable['status']
  /** Scheduled retries so far, at most nine. */
  retries: number
  /** The next time of the schedule; null when the schedule is over. */
  nextAttemptAt: number | null
}

/** A request after an attempt. `nextAttemptAt` is null exactly if the request is finished and leaves the queue. */
export type Transition = {
  status: WebhookRequestsTable['status']
  retries: number
  nextAttemptAt: number | null
  /** What the attempt means for the webhook, whatever its state. */
  webhook: 'resume' | 'pause' | 'keep'
}

/** What the result of an attempt means for its request and webhook. Pure; docs/reference/webhooks.md has the tables. */
export function afterAttempt(
  before: AttemptedRequest,
  trigger: AttemptTrigger,
  result: Pick<AttemptResult, 'delivered' | 'gone' | 'retryAfterMs'>,
  now: number,
): Transition {
  const { requestId, status, nextAttemptAt: scheduledAt } = before
  const retries = before.retries + (trigger === 'schedule' && status === 'RETRYING' ? 1 : 0)
  if (result.delivered) return { status: 'DELIVERED', retries, nextAttemptAt: null, webhook: 'resume' }
  const webhook = result.gone ? 'pause' : 'keep'
  if (status === 'DELIVERED') return { status, retries, nextAttemptAt: null, webhook }
  if (before.isTest || status === 'FAILED') return { status: 'FAILED', retries, nextAttemptAt: null, webhook }
  const retrying = { status: 'RETRYING', retries, webhook } as const
  switch (trigger) {
    case 'probe':
      // A probe uses no retry: the request keeps its time and waits with the others until the webhook is active.
      return { ...retrying, nextAttemptAt: scheduledAt ?? now }
    case 'manual':
      if (scheduledAt !== null && scheduledAt > now) return { ...retrying, nextAttemptAt: scheduledAt }
      return { ...retrying, nextAttemptAt: nextRetryAt({ id: requestId, retries, now, ...result }) ?? now }
    case 'schedule': {
      const nextAttemptAt = nextRetryAt({ id: requestId, retries, now, ...result })
      if (nextAttemptAt === null) return { status: 'FAILED', retries, nextAttemptAt, webhook: 'pause' }
      return { ...retrying, nextAttemptAt: result.gone ? now : nextAttemptAt }
    }
  }
}
