import { type RawBuilder, sql } from 'kysely'

/** `value` of the range of a row of `due_checks`, if the monitor was checked in its last round; otherwise null. */
const ofLastRound = (value: RawBuilder<number>) => sql<number | null>`(
  select case when due_checks.since_round <= rounds.round then ${value} end from due_rounds as rounds
  where rounds.frequency = due_checks.frequency and rounds.first_slot <= due_checks.slot and rounds.until_slot > due_checks.slot
  order by rounds.first_slot desc limit 1)`

const intervalMs = sql<number>`(rounds.frequency * 60000)`
/** `roundStart` of one slot. 2^52 slots times an interval do not fit into 64 bits, so the upper 23 bits and the lower 29 are multiplied separately. */
const slotTime = sql<number>`(rounds.round * ${intervalMs} + (due_checks.slot / 536870912 * ${intervalMs}
  + due_checks.slot % 536870912 * ${intervalMs} / 536870912) / 8388608)`

/** When the monitor of a row of `due_checks` was last checked, as SQL. A round that began late checks what is overdue at once. */
export const lastCheckedAt = sql<number | null>`coalesce(${ofLastRound(
  sql<number>`case when rounds.started_at > ${slotTime} then rounds.started_at else ${slotTime} end`,
)}, due_checks.last_checked_at)`

/** How many checks in a row had the current state, as SQL over a row of `due_checks`. */
export const streakInRounds = sql<number>`(due_checks.streak
  + coalesce(${ofLastRound(sql<number>`rounds.round - due_checks.since_round + 1`)}, 0))`
