import type { Clock } from '../clock.ts'

/** Questions to one server spread over time, so that a flood of ours is none of theirs. */
export type Pace = {
  /** Resolves when the next question may go. Rejects with the signal's reason. */
  wait(signal: AbortSignal | undefined): Promise<void> | undefined
}

/** `perSecond` on average; as many as a second's worth may go at once after a rest. */
export function createPace(perSecond: number, clock: Clock): Pace {
  if (perSecond === Number.POSITIVE_INFINITY) return { wait: () => undefined }
  const stepMs = 1000 / perSecond
  let nextAt = Number.NEGATIVE_INFINITY // when the next question would go if there were no bursts

  async function sleepUntil(at: number, signal: AbortSignal | undefined): Promise<void> {
    await clock.sleep(at - clock.elapsed(), signal)
    if (!signal?.aborted) return
    nextAt -= stepMs // whoever comes later moves up
    throw signal.reason
  }

  return {
    wait(signal) {
      const now = clock.elapsed()
      nextAt = Math.max(nextAt, now) + stepMs
      const at = nextAt - 1000
      return at <= now ? undefined : sleepUntil(at, signal)
    },
  }
}
