import type { Clock } from '../clock.ts'
import { OverloadError } from './semaphore.ts'

/** Spreads queries to one server over time, so that Zonewatch does not flood it. */
export type RateLimiter = {
  /**
   * Resolves when the next query may be sent; undefined if it may be sent at once. Rejects with the signal's reason. Throws
   * `OverloadError` if the wait would be longer than `maxMs`.
   */
  wait(maxMs: number, signal: AbortSignal | undefined): Promise<void> | undefined
}

/** Allows `queriesPerSecond` on average, and bursts of as many as one second allows. */
export function createRateLimiter(queriesPerSecond: number, clock: Clock): RateLimiter {
  if (queriesPerSecond === Number.POSITIVE_INFINITY) return { wait: () => undefined }
  const stepMs = 1000 / queriesPerSecond
  let nextAt = Number.NEGATIVE_INFINITY // when the next query would be sent without bursts
  let retryAt = Number.NEGATIVE_INFINITY // the same for refused queries, so that they do not all retry at once

  async function sleepUntil(at: number, signal: AbortSignal | undefined): Promise<void> {
    await clock.sleep(at - clock.elapsed(), signal)
    if (!signal?.aborted) return
    nextAt -= stepMs // later queries move up
    throw signal.reason
  }

  return {
    wait(maxMs, signal) {
      const now = clock.elapsed()
      const following = Math.max(nextAt, now) + stepMs
      const at = following - 1000
      if (at > now + maxMs) {
        retryAt = Math.max(retryAt, at) + stepMs
        throw new OverloadError(retryAt - now)
      }
      nextAt = following
      return at <= now ? undefined : sleepUntil(at, signal)
    },
  }
}
