import type { Overview } from '#contract/dashboard.ts'

/** How all monitors are, in one sentence. What was never checked is neither well nor at fault. */
export function leadOf({ active, disabled, states }: Pick<Overview, 'active' | 'disabled' | 'states'>): string {
  const [valid, unchecked] = [states.VALID ?? 0, states.UNSET ?? 0]
  const wrong = active - valid - unchecked
  if (active + disabled === 0) return 'What the DNS should say, and whether it does.'
  if (active === 0) return 'Every monitor is disabled.'
  if (wrong > 0) return `${of(wrong, active)} not as expected.`
  if (unchecked === active) return 'No monitor was checked yet.'
  if (unchecked > 0) return `${of(unchecked, active)} not checked yet; the others are as expected.`
  return 'Every active monitor is as expected.'
}

const of = (some: number, all: number) =>
  `${some.toLocaleString()} of ${all.toLocaleString()} active monitors ${some === 1 ? 'is' : 'are'}`
