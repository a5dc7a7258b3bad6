import { sql } from 'kysely'
import { systemClock } from '../server/clock.ts'
import { updateEach } from '../server/database/bulk.ts'
import type { Database } from '../server/database/database.ts'
import { roundAt, roundStart } from '../server/monitors/round-ranges.ts'
import { createRounds } from '../server/monitors/rounds.ts'

/** Puts all monitors into rounds, as after their second check. Rounds with too many monitors are split when they first run. */
export async function joinRounds(db: Database): Promise<void> {
  const now = systemClock.now()
  await sql`update due_checks set due_at = null, claimed_by = null, since_round = 1`.execute(db)
  const monitors = await db.selectFrom('due_checks').select(['slot', 'frequency']).execute()
  for (let from = 0; from < monitors.length; from += 50_000) {
    const since_round = (frequency: number) => Math.floor(now / (frequency * 60_000))
    const joining = monitors
      .slice(from, from + 50_000)
      .map((row) => ({ ...row, since_round: since_round(row.frequency) }))
    await createRounds(db, joining)
  }
  await stopRounds(db)
}

/** No round begins. */
export async function stopRounds(db: Database): Promise<void> {
  await sql`update due_rounds set due_at = null, claimed_by = null`.execute(db)
}

/**
 * The last round of each monitor is due now, as after a downtime of one interval, or the next one at its time. A range whose last round has slots
 * that are not due yet is left out. Returns the number of monitors whose round is due.
 */
export async function planRounds(db: Database, which: 'last' | 'next'): Promise<number> {
  const now = systemClock.now()
  await stopRounds(db)
  const all = await db.selectFrom('due_rounds').select(['frequency', 'first_slot', 'until_slot']).execute()
  const ranges = all.filter(({ frequency, first_slot, until_slot }) => {
    const end = roundStart({ frequency, first_slot: until_slot }, roundAt({ frequency, first_slot }, now))
    return which === 'next' || end <= now
  })
  const key = { frequency: 'bigint', first_slot: 'bigint' } as const
  const set = { round: 'bigint', planned_at: 'bigint', due_at: 'bigint', claimed_by: 'bigint' } as const
  const rows = ranges.map((range) => {
    const round = roundAt(range, now) - (which === 'last' ? 1 : 0)
    const start = roundStart(range, round + 1)
    return { ...range, new_round: round, new_planned_at: start, new_due_at: start, new_claimed_by: null }
  })
  await updateEach(db, { table: 'due_rounds', key, set }, rows)
  const { rows: counts } = await sql<{ count: number }>`select count(*) as count
    from due_rounds join due_checks on due_checks.frequency = due_rounds.frequency
      and due_checks.slot >= due_rounds.first_slot and due_checks.slot < due_rounds.until_slot
    where due_rounds.due_at is not null`.execute(db)
  return Number(counts[0]!.count)
}
