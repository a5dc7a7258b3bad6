import { systemClock } from '#server/clock.ts'

/** Looks again and again until there is something; throws what `otherwise` says when that takes longer than `withinMs`. */
export async function until<T>(
  look: () => Promise<T | undefined>,
  { withinMs = 15_000, everyMs = 50, otherwise }: { withinMs?: number; everyMs?: number; otherwise: () => string },
): Promise<T> {
  const giveUpAt = systemClock.elapsed() + withinMs
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (systemClock.elapsed() > giveUpAt) throw new Error(otherwise())
    await systemClock.sleep(everyMs)
  }
}
