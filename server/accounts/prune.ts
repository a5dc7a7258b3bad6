import { sql } from 'kysely'
import type { Database } from '../database/database.ts'

const BATCH_SIZE = 500
const ATTEMPT_RETENTION_MS = 24 * 60 * 60_000

/** Deletes a batch of expired sessions, tokens and attempts. Returns whether there may be more. */
export async function pruneAccess(db: Database, now: number): Promise<boolean> {
  const statements = [
    sql`delete from sessions where id in (select id from sessions where expires_at <= ${now} limit ${BATCH_SIZE}) returning 1`,
    sql`delete from account_tokens where token_hash in (
      select token_hash from account_tokens where expires_at <= ${now} limit ${BATCH_SIZE}) returning 1`,
    sql`delete from attempts where subject in (
      select subject from attempts where last_attempt_at <= ${now - ATTEMPT_RETENTION_MS} limit ${BATCH_SIZE}) returning 1`,
  ]
  let hasMore = false
  for (const statement of statements) hasMore = (await statement.execute(db)).rows.length === BATCH_SIZE || hasMore
  return hasMore
}
