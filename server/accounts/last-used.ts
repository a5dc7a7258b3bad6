import { sql } from 'kysely'
import type { Database } from '../database/database.ts'

type Touched = { id: string; organization_id: string }

/** An instant is written at most this often for each row. */
const EVERY_MS = 60_000
/** Rows whose last write is remembered; beyond that the statement itself finds nothing to write. */
const REMEMBERED = 10_000

/**
 * Writes when a row was last used: at most once in `EVERY_MS`, however many requests and processes use it. `last`: what the
 * row said when it was read.
 */
export function touchIn(db: Database, table: 'api_keys' | 'agents', column: 'last_used_at' | 'last_seen_at') {
  const written = new Map<string, number>()
  return async ({ id, organization_id }: Touched, last: number | null, now: number): Promise<void> => {
    const isFresh = (at: number | null | undefined) => at != null && at <= now && now - at < EVERY_MS
    if (isFresh(last) || isFresh(written.get(id))) return
    if (written.size >= REMEMBERED) written.clear()
    written.set(id, now)
    const at = sql.ref(column)
    await sql`update ${sql.table(table)} set ${at} = ${now} where organization_id = ${organization_id} and id = ${id}
      and (${at} is null or ${at} <= ${now - EVERY_MS} or ${at} > ${now})`.execute(db)
  }
}
