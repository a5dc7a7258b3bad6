import { createHash } from 'node:crypto'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** Milliseconds from a failed attempt to the next one, by the number of retries already made. */
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

const JITTER_MS = 10_000

/** A receiver cannot put a request off for longer than the schedule's own longest delay. */
const RETRY_AFTER_LIMIT_MS = 24 * HOUR_MS

/** From an attempt to the next one, whatever the schedule or the receiver says. */
export const LONGEST_WAIT_MS = RETRY_AFTER_LIMIT_MS + JITTER_MS

/**
 * The instant of the next attempt after one that failed at `now`, or null when the ninth retry was it.
 * `retries` is 0 after the first attempt. `retryAfterMs` is what the receiver asked for; it counts where it is later than
 * the schedule, up to 24 hours. Up to 10 s are added so that requests that failed together do not return together.
 */
export function nextAttemptAt(failed: {
  retries: number
  now: number
  requestId: string
  retryAfterMs?: number | undefined
}): number | null {
  const delayMs = RETRY_DELAYS_MS[failed.retries]
  if (delayMs === undefined) return null
  const askedMs = Math.min(failed.retryAfterMs ?? 0, RETRY_AFTER_LIMIT_MS)
  return failed.now + Math.max(delayMs, askedMs) + jitterMs(failed.requestId, failed.retries)
}

/**
 * Milliseconds that a `Retry-After` header asks to wait, counted from `now`; undefined where it cannot be read.
 * Whole seconds or one of the three HTTP dates, RFC 9110 sections 10.2.3 and 5.6.7. A date gone by is 0.
 */
export function parseRetryAfter(value: string, now: number): number | undefined {
  const text = value.trim()
  if (/^\d+$/.test(text)) return Number(text) * 1000
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text)) return undefined
  // The oldest form, asctime, names no zone and means UTC.
  const at = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`)
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}

/** 0 to 10 s, the same each time for the same request and retry, so that nothing has to remember it. */
function jitterMs(requestId: string, retries: number): number {
  const digest = createHash('sha256').update(`${requestId}:${retries}`).digest()
  return digest.readUInt32BE(0) % (JITTER_MS + 1)
}
