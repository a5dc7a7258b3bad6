import type { Clock } from '../clock.ts'
import { OverloadError } from './semaphore.ts'
import { createTurns } from './turns.ts'

/** Spreads queries to one server over time, so that Zonewatch does not flood it. Those who wait take turns by `group`. */
export type RateLimiter = {
  /**
   * Resolves when the next query may be sent; undefined if it may be sent at once. Rejects with the signal's reason. Throws
   * `OverloadError` if the wait would be longer than `maxMs`, counting those of other groups that wait already.
   */
  wait(maxMs: number, signal: AbortSignal | undefined, group?: string): Promise<void> | undefined
}

/** Allows `queriesPerSecond` on average, and bursts of as many as one second allows. */
export function createRateLimiter(queriesPerSecond: number, clock: Clock): RateLimiter {
  if (queriesPerSecond === Number.POSITIVE_INFINITY) return { wait: () => undefined }
  const stepMs = 1000 / queriesPerSecond
  const turns = createTurns()
  let nextAt = Number.NEGATIVE_INFINITY // when the next query would be sent without bursts
  let isCalling = false
  const retryAt = new Map<string, number>() // by group: when its next refused query may retry, so that they do not all retry at once

  /** When a query may be sent if `before` others are sent first. */
  const sendableAt = (now: number, before: number) => Math.max(nextAt, now) + (before + 1) * stepMs - 1000

  async function callWaiting(): Promise<void> {
    isCalling = true
    while (turns.count() > 0) {
      const now = clock.elapsed()
      const at = sendableAt(now, 0)
      if (at > now) await clock.sleep(at - now)
      else if (turns.callNext()) nextAt = Math.max(nextAt, now) + stepMs
    }
    isCalling = false
    const now = clock.elapsed()
    for (const [group, at] of retryAt) if (at <= now) retryAt.delete(group)
  }

  return {
    wait(maxMs, signal, group = '') {
      if (signal?.aborted) return Promise.reject(signal.reason)
      const now = clock.elapsed()
      const at = sendableAt(now, turns.countBefore(group))
      if (at > now + maxMs) {
        const again = Math.max(retryAt.get(group) ?? at, at) + stepMs
        retryAt.set(group, again)
        throw new OverloadError(again - now)
      }
      if (at <= now && turns.count() === 0) {
        nextAt = Math.max(nextAt, now) + stepMs
        return undefined
      }
      const waiting = turns.wait(signal, group)
      if (!isCalling) void callWaiting()
      return waiting
    },
  }
}
