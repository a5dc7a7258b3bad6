import { type Clock, systemClock } from '../clock.ts'

/** Time advances in steps of at most this, however long a busy machine delays a step. */
const MAX_STEP_MS = 20

type Sleeper = { until: number; wake: () => void }

let elapsedMs = 0
let countedAt = systemClock.elapsed()
const sleepers = new Set<Sleeper>()
let isTicking = false

/**
 * A clock for network requests with deadlines of milliseconds on a machine of any speed. No time passes while this process
 * waits for the CPU, and the event loop reads arrived packets between two steps, so a busy machine causes no timeout.
 */
export const patientClock: Clock = {
  now: systemClock.now,
  elapsed: () => {
    updateElapsed()
    return elapsedMs
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

function updateElapsed(): void {
  const now = systemClock.elapsed()
  elapsedMs += Math.min(now - countedAt, MAX_STEP_MS)
  countedAt = now
}

function tick(): void {
  if (isTicking || sleepers.size === 0) return
  isTicking = true
  const next = Math.min(...[...sleepers].map(({ until }) => until))
  setTimeout(
    () => {
      isTicking = false
      updateElapsed()
      for (const sleeper of [...sleepers].filter(({ until }) => until <= elapsedMs)) sleeper.wake()
      tick()
    },
    Math.max(1, Math.min(MAX_STEP_MS, next - elapsedMs)),
  )
}
