import type { Json, Once } from './schema.ts'

/** A round that began or ended late, or before which rounds were skipped: of each monitor that was in it. `monitors/check-gaps.ts`. */
export type RoundGapsTable = {
  /** Of the range before it was split. */
  range_id: Once<string>
  round: Once<number>
  first_slot: Once<number>
  until_slot: Once<number>
  started_at: Once<number>
  /** No check began later than this after its slot and the start of the round. */
  delay_ms: Once<number>
  /** The finished round before it, and when it began. */
  last_round: Once<number>
  last_started_at: Once<number>
}

/** Two consecutive checks of a monitor between which one was late or missed. */
export type CheckGapsTable = {
  organization_id: Once<string>
  monitor_id: Once<string>
  /** When the check after the gap began. */
  until_at: Once<number>
  from_at: Once<number>
  /** From when on checks were made without a result. */
  withheld_since: Once<number | null>
}

/** The schedule that a monitor had until it changed. The one before the first of them began when the monitor was created. */
export type PastSchedulesTable = {
  organization_id: Once<string>
  monitor_id: Once<string>
  until_at: Once<number>
  /** Minutes; 0: it was not checked. */
  frequency: Once<number>
  /** The last check before the change. */
  last_checked_at: Once<number | null>
}

/** A day (UTC) on which the state of a monitor changed. `monitors/state-days.ts`. */
export type StateDaysTable = {
  organization_id: Once<string>
  monitor_id: Once<string>
  /** Its first instant. */
  day: Once<number>
  /** A JSON list of spans `[state, milliseconds]` from the beginning of the day to its last change. */
  spans: Json
}
