import { type Clock, systemClock } from '../clock.ts'

/** Time passes in steps of this; what a busy machine adds to a step does not count. */
const STEP_MS = 20

type Sleeper = { until: number; wake: () => void }

let passed = 0
let countedAt = systemClock.elapsed()
const sleepers = new Set<Sleeper>()
let isTicking = false

/**
 * For real exchanges with deadlines of milliseconds, on a machine of any speed: while this process has to wait for the CPU
 * no time passes, and between two steps the event loop reads what came. So a deadline ends what is silent, never what is slow.
 */
export const patientClock: Clock = {
  now: systemClock.now,
  elapsed: () => {
    count()
    return passed
  },
  sleep(ms, signal) {
    if (signal?.aborted) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    const sleeper: Sleeper = {
      until: patientClock.elapsed() + ms,
      wake: () => {
        sleepers.delete(sleeper)
        signal?.removeEventListener('abort', sleeper.wake)
        resolve()
      },
    }
    sleepers.add(sleeper)
    signal?.addEventListener('abort', sleeper.wake)
    tick()
    return promise
  },
}

function count(): void {
  const now = systemClock.elapsed()
  passed += Math.min(now - countedAt, STEP_MS)
  countedAt = now
}

function tick(): void {
  if (isTicking || sleepers.size === 0) return
  isTicking = true
  const next = Math.min(...[...sleepers].map(({ until }) => until))
  setTimeout(
    () => {
      isTicking = false
      count()
      for (const sleeper of [...sleepers].filter(({ until }) => until <= passed)) sleeper.wake()
      tick()
    },
    Math.max(1, Math.min(STEP_MS, next - passed)),
  )
}
