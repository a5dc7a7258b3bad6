import type { Clock } from '#server/clock.ts'

/** The time of one world. Nothing waits really: `advance` goes to the next timer. */
export type VirtualClock = Clock & {
  /** Goes on by `ms` at once if no timer is due earlier. Otherwise resolves then. */
  pass(ms: number): Promise<void> | undefined
  /** Sets the wall clock, but not `elapsed`. */
  step(ms: number): void
  /** Fires the next timer. False if there is none. */
  advance(): boolean
  /** Goes to a later instant, when nothing is pending. */
  goTo(elapsed: number): void
}

type Timer = { at: number; fire: () => void }

export function createVirtualClock(startAt: number): VirtualClock {
  let elapsed = 0
  let offset = startAt
  let timers: Timer[] = []
  const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      const timer = { at: elapsed + ms, fire: resolve }
      timers.push(timer)
      signal?.addEventListener(
        'abort',
        () => {
          timers = timers.filter((other) => other !== timer)
          resolve()
        },
        { once: true },
      )
    })
  return {
    now: () => offset + elapsed,
    elapsed: () => elapsed,
    sleep,
    pass(ms) {
      const to = elapsed + ms
      if (timers.some(({ at }) => at <= to)) return sleep(ms)
      elapsed = to
      return undefined
    },
    step(ms) {
      offset += ms
    },
    advance() {
      const next = timers.reduce<Timer | undefined>(
        (first, timer) => (first && first.at <= timer.at ? first : timer),
        undefined,
      )
      if (!next) return false
      timers.splice(timers.indexOf(next), 1)
      elapsed = Math.max(elapsed, next.at)
      next.fire()
      return true
    },
    goTo(to) {
      elapsed = Math.max(elapsed, to)
    },
  }
}
