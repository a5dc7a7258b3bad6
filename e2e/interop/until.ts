import { systemClock } from '#server/clock.ts'

/** Polls until there is a result. Throws the text of `failure` after `withinMs`. */
export async function until<T>(
  poll: () => Promise<T | undefined>,
  { withinMs = 15_000, everyMs = 50, failure }: { withinMs?: number; everyMs?: number; failure: () => string },
): Promise<T> {
  const giveUpAt = systemClock.elapsed() + withinMs
  for (;;) {
    const result = await poll()
    if (result !== undefined) return result
    if (systemClock.elapsed() > giveUpAt) throw new Error(failure())
    await systemClock.sleep(everyMs)
  }
}
