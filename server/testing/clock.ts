import { type Clock, systemClock } from '../clock.ts'

export type ManualClock = Clock & {
  /** Moves the time on to this instant; whoever sleeps until then wakes. It never goes back. */
  moveTo(instant: number): void
}

/** Pauses shorter than this are pacing, not waiting: they pass in a turn of the event loop, and the time stays. */
const PACING_MS = 250

/** A clock that stands still until a test moves it. Loops that pace themselves keep turning. */
export function createManualClock(start = Date.UTC(2026, 10, 21, 9, 30)): ManualClock {
  let now = start
  const sleepers = new Set<() => void>()
  return {
    now: () => now,
    elapsed: () => now - start,
    sleep(ms, signal) {
      if (signal?.aborted) return Promise.resolve()
      if (ms < PACING_MS) return systemClock.sleep(1, signal)
      const { promise, resolve } = Promise.withResolvers<void>()
      const until = now + ms
      const look = () => {
        if (now < until && !signal?.aborted) return
        sleepers.delete(look)
        signal?.removeEventListener('abort', look)
        resolve()
      }
      sleepers.add(look)
      signal?.addEventListener('abort', look)
      return promise
    },
    moveTo(instant) {
      now = Math.max(now, instant)
      for (const look of [...sleepers]) look()
    },
  }
}
