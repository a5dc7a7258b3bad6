import { sql } from 'kysely'
import type { Database } from '../database/database.ts'

const BATCH = 500
const KEPT_MS = 24 * 60 * 60_000

/** Removes sessions, links and counted tries that have run out. Returns whether there may be more. */
export async function pruneAccess(db: Database, now: number): Promise<boolean> {
  const gone = [
    sql`delete from sessions where id in (select id from sessions where expires_at <= ${now} limit ${BATCH}) returning 1`,
    sql`delete from account_tokens where token_hash in (
      select token_hash from account_tokens where expires_at <= ${now} limit ${BATCH}) returning 1`,
    sql`delete from attempts where subject in (
      select subject from attempts where last_attempt_at <= ${now - KEPT_MS} limit ${BATCH}) returning 1`,
  ]
  let isMore = false
  for (const statement of gone) isMore = (await statement.execute(db)).rows.length === BATCH || isMore
  return isMore
}
