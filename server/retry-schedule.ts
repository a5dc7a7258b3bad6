import { createHash } from 'node:crypto'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** Milliseconds from a failed attempt to the next one, by the number of retries so far. */
export const RETRY_DELAYS_MS: readonly number[] = [
  5 * MINUTE_MS,
  10 * MINUTE_MS,
  15 * MINUTE_MS,
  30 * MINUTE_MS,
  HOUR_MS,
  2 * HOUR_MS,
  6 * HOUR_MS,
  12 * HOUR_MS,
  24 * HOUR_MS,
]

const MAX_JITTER_MS = 10_000

/** `Retry-After` counts up to the longest delay of the schedule. */
const MAX_RETRY_AFTER_MS = 24 * HOUR_MS

/** The longest time from an attempt to the next one. */
export const MAX_DELAY_MS = MAX_RETRY_AFTER_MS + MAX_JITTER_MS

/**
 * When to retry a webhook request or an alert whose attempt failed at `now`; null after the ninth retry. `retries` is 0 after the first attempt.
 * `retryAfterMs` of the receiver counts if it is longer than the delay of the schedule. Up to 10 s of jitter are added, so that
 * requests that failed together are not retried together.
 */
export function nextRetryAt(failed: {
  retries: number
  now: number
  id: string
  retryAfterMs?: number | undefined
}): number | null {
  const delayMs = RETRY_DELAYS_MS[failed.retries]
  if (delayMs === undefined) return null
  const requestedMs = Math.min(failed.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS)
  return failed.now + Math.max(delayMs, requestedMs) + jitterMs(failed.id, failed.retries)
}

/**
 * The milliseconds to wait by a `Retry-After` header; undefined if it is malformed. Whole seconds or one of the three HTTP
 * dates, RFC 9110 sections 10.2.3 and 5.6.7. 0 for a date in the past.
 */
export function parseRetryAfter(value: string, now: number): number | undefined {
  const text = value.trim()
  if (/^\d+$/.test(text)) return Number(text) * 1000
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text)) return undefined
  // The asctime form has no time zone and means UTC.
  const date = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

/** Derived from the id and the retry, so that it is not stored. */
function jitterMs(id: string, retries: number): number {
  const digest = createHash('sha256').update(`${id}:${retries}`).digest()
  return digest.readUInt32BE(0) % (MAX_JITTER_MS + 1)
}
