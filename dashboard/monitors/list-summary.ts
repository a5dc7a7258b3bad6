import type { Overview } from '#contract/dashboard.ts'

/** How all monitors are, in one sentence. What was never checked is neither well nor at fault. */
export function leadOf({ active, disabled, states }: Pick<Overview, 'active' | 'disabled' | 'states'>): string {
  const [valid, unchecked] = [states.VALID ?? 0, states.UNSET ?? 0]
  const wrong = active - valid - unchecked
  if (active + disabled === 0) return 'The records you expect, and their current state.'
  if (active === 0) return 'All monitors are disabled.'
  if (wrong === 1) return `1 of ${active.toLocaleString()} active monitors is not valid.`
  if (wrong > 1) return `${wrong.toLocaleString()} of ${active.toLocaleString()} active monitors are not valid.`
  if (unchecked === active) return 'No monitor has been checked yet.'
  if (unchecked === 1) {
    return `1 of ${active.toLocaleString()} active monitors is not checked yet; the others are valid.`
  }
  if (unchecked > 1) {
    return `${unchecked.toLocaleString()} of ${active.toLocaleString()} active monitors are not checked yet; the others are valid.`
  }
  return 'All active monitors are valid.'
}
