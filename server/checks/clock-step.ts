import { sql } from 'kysely'
import { type Database, skipLocked } from '../database/database.ts'

/** No monitor is planned further ahead than its interval, and none has a shorter one: what is due before that is not looked at. */
const LEAST_INTERVAL_MS = 5 * 60_000
/** Rows in one statement, after which others have a turn. */
const SLICE = 500

/**
 * Brings back what is planned further ahead than its interval, as after the clock was set back: by whole intervals, so that each
 * monitor keeps its place and not all are due at once. What this process is checking returns to the schedule by itself.
 */
export async function repairAfterClockStep(
  db: Database,
  { now, process }: { now: number; process: number },
): Promise<void> {
  while ((await bringSliceBack(db, now, process)) === SLICE);
}

async function bringSliceBack(db: Database, instant: number, process: number): Promise<number> {
  const now = sql`cast(${instant} as bigint)` // SQLite would take it for a fraction
  const { rows } = await sql`
    with astray as (
      select slot from due_checks
      where due_at > ${now} + ${LEAST_INTERVAL_MS} and due_at > ${now} + frequency * 60000
        and (claimed_by is null or claimed_by <> ${process})
      order by due_at desc limit ${SLICE} ${skipLocked(db)}
    )
    update due_checks
    set due_at = due_checks.due_at - (due_checks.due_at - ${now}) / (due_checks.frequency * 60000) * (due_checks.frequency * 60000),
      claimed_by = null
    from astray where due_checks.slot = astray.slot
    returning 1`.execute(db)
  return rows.length
}
