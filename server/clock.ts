import { setTimeout as timer } from 'node:timers/promises'

/** The only source of time. Product code takes one as an argument and never reads the system's clock itself. */
export type Clock = {
  /** The instant, in UTC epoch milliseconds. It can jump when the machine's clock is set. */
  now(): number
  /** Milliseconds since some fixed moment; never goes backwards. For measuring and for deadlines. */
  elapsed(): number
  /** Resolves after the given milliseconds, or at once (without failing) when the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  sleep: (ms, signal) => timer(ms, undefined, signal ? { signal } : {}).catch(() => {}),
}

/** A clock set back by less than this only makes things later by as much. Clocks of two machines differ by less. */
export const JUMP_MS = 5_000

/** Says whether the machine's clock was set back since the last time it was asked. One forward needs nothing: all is due then. */
export function watchClock(clock: Clock): () => boolean {
  let ahead = clock.now() - clock.elapsed()
  return () => {
    const before = ahead
    ahead = clock.now() - clock.elapsed()
    return ahead < before - JUMP_MS
  }
}
