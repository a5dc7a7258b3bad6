import { type RawBuilder, sql } from 'kysely'
import { MAX_CLOCK_STEP_MS } from '../clock.ts'
import { insertEachNew, isOneOf, updateEach } from '../database/bulk.ts'
import { type Database, forUpdate } from '../database/database.ts'
import { nextDueAt, SLOTS } from './slots.ts'

/**
 * Regular checks run in rounds. A row of `due_rounds` is a range of slots of one interval. Its n-th round checks the monitors in it once,
 * each at its slot, from `roundStart(n)`. Only that row is leased and written. A monitor in rounds has no `due_at`; `since_round` is the
 * first round that counts for it. So its last check and the number of checks in its state follow from the last finished round. A
 * monitor whose check changed something, or is to be repeated sooner, leaves the rounds for the queue of rows until it is regular again.
 */
export type RoundRange = { frequency: number; first_slot: number }

/** Short enough that `last_checked` is current, and that little is repeated after a crash. */
const LONGEST_RANGE_MS = 8_000

/** The range that contains a slot, unless it has been split. The first part of a split range keeps its first slot. */
function rangeOf({ slot, frequency }: { slot: number; frequency: number }): { first_slot: number; until_slot: number } {
  const ranges = 2 ** Math.ceil(Math.log2((frequency * 60_000) / LONGEST_RANGE_MS))
  const size = SLOTS / ranges
  const first_slot = Math.floor(slot / size) * size
  return { first_slot, until_slot: first_slot + size }
}

/** When the range's n-th round begins, in UTC epoch milliseconds. Rounds are counted from the epoch. */
export function roundStart({ frequency, first_slot }: RoundRange, round: number): number {
  const intervalMs = frequency * 60_000
  return round * intervalMs + Math.floor((first_slot / SLOTS) * intervalMs)
}

/** The last round of the range that has begun. */
export const roundAt = (range: RoundRange, now: number): number =>
  Math.floor((now - roundStart(range, 0)) / (range.frequency * 60_000))

/** For clocks that differ, and for the time until the transaction is committed. */
const JOIN_MARGIN_MS = 2 * MAX_CLOCK_STEP_MS

/**
 * The first round that counts for a monitor that was checked now. Undefined if the round with its next check has begun, or may have begun
 * by the clock of another machine: then its next check is one of its own.
 */
export function nextRound(now: number, monitor: { slot: number; frequency: number }): number | undefined {
  const round = Math.floor(nextDueAt(now, monitor) / (monitor.frequency * 60_000))
  const start = roundStart({ frequency: monitor.frequency, first_slot: rangeOf(monitor).first_slot }, round)
  return start > now + JOIN_MARGIN_MS ? round : undefined
}

const ROUND = {
  ...({ frequency: 'bigint', first_slot: 'bigint', until_slot: 'bigint', round: 'bigint' } as const),
  ...({ started_at: 'bigint', planned_at: 'bigint', due_at: 'bigint' } as const),
}

/** Creates the ranges of monitors that join, where they do not exist. Ranges are never deleted, so nobody has to lock them. */
export async function createRounds(
  db: Database,
  joining: readonly { slot: number; frequency: number; since_round: number }[],
): Promise<void> {
  const byKey = new Map<string, Record<keyof typeof ROUND, number>>()
  for (const { slot, frequency, since_round } of joining) {
    const range = { frequency, ...rangeOf({ slot, frequency }) }
    const planned_at = roundStart(range, since_round)
    const row = { ...range, round: since_round - 1, started_at: 0, planned_at, due_at: planned_at }
    byKey.set(`${frequency}/${range.first_slot}`, row)
  }
  await insertEachNew(db, { table: 'due_rounds', columns: ROUND, key: 'frequency, first_slot' }, [...byKey.values()])
}

/**
 * Moves monitors from the rounds to the queue of rows, due at their next slot. A check of theirs that is in progress is
 * not recorded. In a transaction; before any other change of their rows in `due_checks`.
 */
export async function leaveRounds(db: Database, slots: readonly number[], now: number): Promise<void> {
  const rows = await db
    .selectFrom('due_checks')
    .select(['slot', 'frequency', lastCheckedAt.as('last_checked_at'), streakInRounds.as('streak')])
    .where(isOneOf(db, 'slot', slots, 'bigint'))
    .where('since_round', 'is not', null)
    .orderBy('slot')
    .modifyEnd(forUpdate(db))
    .execute()
  await updateEach(
    db,
    {
      table: 'due_checks',
      key: { slot: 'bigint' },
      set: { due_at: 'bigint', since_round: 'bigint', streak: 'bigint', last_checked_at: 'bigint' },
    },
    rows.map((row) => ({
      slot: row.slot,
      new_due_at: nextDueAt(now, row),
      new_since_round: null,
      new_streak: row.streak,
      new_last_checked_at: row.last_checked_at,
    })),
  )
}

/** `value` of the range of a row of `due_checks`, if the monitor was checked in its last round; otherwise null. */
const ofLastRound = (value: RawBuilder<number>) => sql<number | null>`(
  select case when due_checks.since_round <= rounds.round then ${value} end from due_rounds as rounds
  where rounds.frequency = due_checks.frequency and rounds.first_slot <= due_checks.slot and rounds.until_slot > due_checks.slot
  order by rounds.first_slot desc limit 1)`

/** 2^52 slots times an interval do not fit into 64 bits, so both are divided first. */
const slotTime = sql<number>`(rounds.round * rounds.frequency * 60000
  + due_checks.slot / 536870912 * (rounds.frequency * 60000) / 8388608)`

/** When the monitor of a row of `due_checks` was last checked, as SQL. A round that began late checks what is overdue at once. */
export const lastCheckedAt = sql<number | null>`coalesce(${ofLastRound(
  sql<number>`case when rounds.started_at > ${slotTime} then rounds.started_at else ${slotTime} end`,
)}, due_checks.last_checked_at)`

/** How many checks in a row had the current state, as SQL over a row of `due_checks`. */
export const streakInRounds = sql<number>`(due_checks.streak
  + coalesce(${ofLastRound(sql<number>`rounds.round - due_checks.since_round + 1`)}, 0))`
