import type { ZoneHealth } from '#contract/zone-codes.ts'

/** A new health makes the zone due for its incident and alerts. Call `evaluateIncidents` after writing it. */
export const healthColumns = (
  before: { health: ZoneHealth; evaluate_at: number | null },
  health: ZoneHealth,
  now: number,
) => ({
  health,
  evaluate_at: health === before.health ? before.evaluate_at : now,
})
