import { type Clock, systemClock } from '../clock.ts'

export type ManualClock = Clock & {
  /** Moves the time on to this instant; anyone who sleeps until then wakes. It never goes back. */
  moveTo(instant: number): void
  /** What somebody who sets the machine's clock does: no time passes by it. */
  setBack(ms: number): void
}

/** Pauses shorter than this are pacing, not waiting: they pass in a turn of the event loop, and the time stays. */
const PACING_MS = 250

/** A clock that stands still until a test moves it. Loops that pace themselves keep turning. */
export function createManualClock(start = Date.UTC(2026, 10, 21, 9, 30)): ManualClock {
  let passed = 0
  let back = 0
  const sleepers = new Set<() => void>()
  return {
    now: () => start + passed - back,
    elapsed: () => passed,
    sleep(ms, signal) {
      if (signal?.aborted) return Promise.resolve()
      if (ms < PACING_MS) return systemClock.sleep(1, signal)
      const { promise, resolve } = Promise.withResolvers<void>()
      const until = passed + ms
      const look = () => {
        if (passed < until && !signal?.aborted) return
        sleepers.delete(look)
        signal?.removeEventListener('abort', look)
        resolve()
      }
      sleepers.add(look)
      signal?.addEventListener('abort', look)
      return promise
    },
    moveTo(instant) {
      passed = Math.max(passed, instant - start + back)
      for (const look of [...sleepers]) look()
    },
    setBack(ms) {
      back += ms
    },
  }
}
