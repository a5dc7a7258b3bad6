import { setTimeout as timer } from 'node:timers/promises'

/** The only source of time. Product code takes one as an argument and never reads the system's clock itself. */
export type Clock = {
  /** The instant, in UTC epoch milliseconds. It can jump when the machine's clock is set. */
  now(): number
  /** Milliseconds since some fixed moment; never goes backwards. For measuring and for deadlines. */
  elapsed(): number
  /** Resolves after `ms`, or at once when the signal is aborted. Never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  sleep: (ms, signal) => timer(ms, undefined, signal ? { signal } : {}).catch(() => {}),
}

/** Runs `work` with a signal that is aborted after `ms`, and when `signal` is. */
export async function withDeadline<T>(
  clock: Clock,
  ms: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = new AbortController()
  const expire = clock.sleep(ms, deadline.signal).then(() => deadline.abort())
  try {
    return await work(AbortSignal.any([signal, deadline.signal]))
  } finally {
    deadline.abort()
    await expire
  }
}

/** A clock that is set back by less than this delays work by as much, nothing else. Clocks of two machines differ by less. */
export const MAX_CLOCK_STEP_MS = 5_000

/**
 * Returns a function that says whether the machine's clock was set back since its last call. A step forward needs no handling:
 * it only makes rows due earlier.
 */
export function watchForStepBack(clock: Clock): () => boolean {
  let offset = clock.now() - clock.elapsed()
  return () => {
    const previous = offset
    offset = clock.now() - clock.elapsed()
    return offset < previous - MAX_CLOCK_STEP_MS
  }
}
