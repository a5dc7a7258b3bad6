import { DELETE_BATCH_SIZE, deleteBatch } from '../database/batches.ts'
import type { Database } from '../database/database.ts'
import { DAY_MS } from '../times.ts'

const ATTEMPT_RETENTION_MS = DAY_MS
/** Of invitations that nobody accepted, after they expired. */
const INVITATION_RETENTION_MS = 30 * DAY_MS

/** Deletes a batch of expired sessions, tokens, attempts and invitations. Returns whether there may be more. */
export async function pruneAccess(db: Database, now: number): Promise<boolean> {
  const sessions = db.selectFrom('sessions').where('expires_at', '<=', now).orderBy('expires_at')
  const tokens = db.selectFrom('account_tokens').where('expires_at', '<=', now).orderBy('expires_at')
  const attempts = db
    .selectFrom('attempts')
    .where('last_attempt_at', '<=', now - ATTEMPT_RETENTION_MS)
    .orderBy('last_attempt_at')
  const invitations = db
    .selectFrom('invitations')
    .where('accepted_at', 'is', null)
    .where('expires_at', '<=', now - INVITATION_RETENTION_MS)
    .orderBy('expires_at')
  const deleted = [
    await deleteBatch(db, 'sessions', ['id'], sessions),
    await deleteBatch(db, 'account_tokens', ['token_hash'], tokens),
    await deleteBatch(db, 'attempts', ['subject'], attempts),
    await deleteBatch(db, 'invitations', ['id'], invitations),
  ]
  return deleted.includes(DELETE_BATCH_SIZE)
}
