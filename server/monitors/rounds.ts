import { MAX_CLOCK_STEP_MS } from '../clock.ts'
import { insertEachNew, isOneOf, updateEach } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import { copyRoundGaps } from './check-gaps.ts'
import { lastCheckedAt, streakInRounds } from './last-round.ts'
import { rangeOf, roundStart } from './round-ranges.ts'
import { lastDueAt, nextDueAt } from './slots.ts'

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
  await insertEachNew(db, { table: 'due_rounds', columns: ROUND, key: ['frequency', 'first_slot'] }, [
    ...byKey.values(),
  ])
}

/**
 * Moves monitors from the rounds to the queue of rows, due at their next slot, or now if their check in the last one is not recorded: it
 * is discarded if it is in progress. In a transaction; before any other change of their rows in `due_checks`.
 */
export async function leaveRounds(db: Database, slots: readonly number[], now: number): Promise<void> {
  const rows = await db
    .selectFrom('due_checks')
    .select(['slot', 'frequency', 'organization_id', 'monitor_id', 'joined_at'])
    .select([lastCheckedAt.as('last_checked_at'), streakInRounds.as('streak')])
    .where(isOneOf(db, 'slot', slots, 'bigint'))
    .where('since_round', 'is not', null)
    .orderBy('slot')
    .modifyEnd(forUpdate(db))
    .execute()
  await copyRoundGaps(db, rows)
  await updateEach(
    db,
    {
      table: 'due_checks',
      key: { slot: 'bigint' },
      set: { due_at: 'bigint', since_round: 'bigint', streak: 'bigint', last_checked_at: 'bigint' },
    },
    rows.map((row) => ({
      slot: row.slot,
      new_due_at: (row.last_checked_at ?? now) < lastDueAt(now, row) ? now : nextDueAt(now, row),
      new_since_round: null,
      new_streak: row.streak,
      new_last_checked_at: row.last_checked_at,
    })),
  )
}
