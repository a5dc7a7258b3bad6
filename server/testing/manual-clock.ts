import { type Clock, systemClock } from '../clock.ts'

export type ManualClock = Clock & {
  /** Advances the time to this instant and ends the sleeps until then. Never goes back. */
  moveTo(instant: number): void
  /** Sets the wall clock back. No time passes. */
  setBack(ms: number): void
}

/** Shorter pauses end in the next turn of the event loop, without advancing the time. */
const MIN_SLEEP_MS = 250

/** A clock that a test advances. Loops with short pauses keep running. */
export function createManualClock(start = Date.UTC(2026, 10, 21, 9, 30)): ManualClock {
  let elapsedMs = 0
  let setBackMs = 0
  const sleepers = new Set<() => void>()
  return {
    now: () => start + elapsedMs - setBackMs,
    elapsed: () => elapsedMs,
    sleep(ms, signal) {
      if (signal?.aborted) return Promise.resolve()
      if (ms < MIN_SLEEP_MS) return systemClock.sleep(1, signal)
      const { promise, resolve } = Promise.withResolvers<void>()
      const until = elapsedMs + ms
      const wakeIfDue = () => {
        if (elapsedMs < until && !signal?.aborted) return
        sleepers.delete(wakeIfDue)
        signal?.removeEventListener('abort', wakeIfDue)
        resolve()
      }
      sleepers.add(wakeIfDue)
      signal?.addEventListener('abort', wakeIfDue)
      return promise
    },
    moveTo(instant) {
      elapsedMs = Math.max(elapsedMs, instant - start + setBackMs)
      for (const wakeIfDue of [...sleepers]) wakeIfDue()
    },
    setBack(ms) {
      setBackMs += ms
    },
  }
}
