import type { Clock } from '../clock.ts'
import { OverloadError } from './semaphore.ts'

/** Questions to one server spread over time, so that a flood of ours is none of theirs. */
export type RateLimiter = {
  /**
   * Resolves when the next question may go; undefined where it may at once. Rejects with the signal's reason. Throws `OverloadError`
   * where the wait would be longer than `mostMs`.
   */
  wait(mostMs: number, signal: AbortSignal | undefined): Promise<void> | undefined
}

/** `perSecond` on average; as many as a second's worth may go at once after a rest. */
export function createRateLimiter(perSecond: number, clock: Clock): RateLimiter {
  if (perSecond === Number.POSITIVE_INFINITY) return { wait: () => undefined }
  const stepMs = 1000 / perSecond
  let nextAt = Number.NEGATIVE_INFINITY // when the next question would go if there were no bursts
  let promisedAt = Number.NEGATIVE_INFINITY // the same for those that were sent away, so that they do not all come back at once

  async function sleepUntil(at: number, signal: AbortSignal | undefined): Promise<void> {
    await clock.sleep(at - clock.elapsed(), signal)
    if (!signal?.aborted) return
    nextAt -= stepMs // anyone who comes later moves up
    throw signal.reason
  }

  return {
    wait(mostMs, signal) {
      const now = clock.elapsed()
      const afterIt = Math.max(nextAt, now) + stepMs
      const at = afterIt - 1000
      if (at > now + mostMs) {
        promisedAt = Math.max(promisedAt, at) + stepMs
        throw new OverloadError(promisedAt - now)
      }
      nextAt = afterIt
      return at <= now ? undefined : sleepUntil(at, signal)
    },
  }
}
