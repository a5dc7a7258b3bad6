import type { WebhookRequestsTable, WebhooksTable } from '../database/schema.ts'
import type { AttemptResult } from './attempt.ts'
import { nextAttemptAt } from './retry-schedule.ts'

/** A paused webhook is tried with its oldest kept request this often. */
export const PROBE_MS = 60 * 60_000

export type Standing = {
  requestId: string
  retries: number
  webhookState: WebhooksTable['state']
  /** Whether this attempt was one of the schedule's retries, rather than the first one. */
  isRetry: boolean
}

export type Transition = {
  status: WebhookRequestsTable['status']
  retries: number
  /** When to try again; null where the request is done with, or waits for its webhook. */
  nextAttemptAt: number | null
  /** The request stays in the queue of its webhook. */
  isKept: boolean
  webhookState: WebhooksTable['state']
}

/** What an attempt's result means for its request and its webhook. Pure. */
export function afterAttempt(standing: Standing, result: AttemptResult, now: number): Transition {
  const { webhookState } = standing
  const retries = standing.retries + (standing.isRetry && webhookState === 'active' ? 1 : 0)
  if (result.delivered) {
    return { status: 'DELIVERED', retries, nextAttemptAt: null, isKept: false, webhookState: 'active' }
  }
  // A receiver that wants no more, or a probe that failed: nothing is lost, the request waits with the others.
  if (result.gone || webhookState === 'paused') {
    return { status: 'RETRYING', retries, nextAttemptAt: null, isKept: true, webhookState: 'paused' }
  }
  const { requestId } = standing
  const next = nextAttemptAt({ retries, now, requestId, retryAfterMs: result.retryAfterMs })
  if (next === null) return { status: 'FAILED', retries, nextAttemptAt: null, isKept: false, webhookState: 'paused' }
  return { status: 'RETRYING', retries, nextAttemptAt: next, isKept: true, webhookState: 'active' }
}
