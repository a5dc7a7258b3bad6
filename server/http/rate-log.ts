import { sql } from 'kysely'
import type { Database } from '../database/database.ts'
import { WINDOW_MS } from './limits.ts'

/**
 * Counts a request when its bucket has a place, and returns its number; undefined when there was none, or when another
 * process took the same number at this moment. The n-th request has a place when the one `limit` before it has left the
 * window, so one row decides, and the primary key holds for all processes. Times never fall as numbers rise, whatever the
 * clocks of the processes say.
 */
export async function countRequest(
  db: Database,
  bucket: string,
  limit: number,
  now: number,
): Promise<number | undefined> {
  const { rows } = await sql<{ number: number }>`
    with last as (
      select (select coalesce(max(number), 0) from rate_log where bucket = ${bucket}) as number,
        (select coalesce(max(counted_at), 0) from rate_log where bucket = ${bucket} and ${inWindow(now)}) as counted_at
    )
    insert into rate_log (bucket, number, counted_at)
    select cast(${bucket} as text), last.number + 1,
      case when last.counted_at > cast(${now} as bigint) then last.counted_at else cast(${now} as bigint) end from last
    where not exists (
      select 1 from rate_log where bucket = ${bucket} and number = last.number + 1 - cast(${limit} as bigint)
        and ${inWindow(now)}
    )
    on conflict do nothing returning number`.execute(db)
  return rows[0]?.number
}

export type Window = { counted: number; oldestAt: number }

/** How many requests the window holds, and when the oldest of them came. Two look-ups, however many there are. */
export async function readWindow(db: Database, bucket: string, now: number): Promise<Window> {
  const { rows } = await sql<{ last: number; number: number; counted_at: number }>`
    select (select max(number) from rate_log where bucket = ${bucket}) as last, number, counted_at
    from rate_log where bucket = ${bucket} and ${inWindow(now)} order by counted_at, number limit 1`.execute(db)
  const [oldest] = rows
  return oldest
    ? { counted: oldest.last - oldest.number + 1, oldestAt: oldest.counted_at }
    : { counted: 0, oldestAt: now }
}

/** Removes what no window holds any more. Returns whether there may be more. */
export async function pruneRateLog(db: Database, now: number): Promise<boolean> {
  const { rows } = await sql`
    delete from rate_log where (bucket, number) in (
      select bucket, number from rate_log where counted_at <= ${now - 2 * WINDOW_MS} limit ${PRUNE_BATCH}
    ) returning 1 as gone`.execute(db)
  return rows.length === PRUNE_BATCH
}

const PRUNE_BATCH = 500

/** A row of the future was written before the machine's clock was set back, and counts no more. */
const inWindow = (now: number) => sql`counted_at > ${now - WINDOW_MS} and counted_at <= ${now + WINDOW_MS}`
