import type { Sessions } from '#contract/account.ts'
import type { Origin } from '../context.ts'
import type { Database } from '../database/database.ts'
import { ignoreNotWritable } from '../database/unavailable.ts'
import { newId } from '../ids.ts'
import { hashOfToken } from '../mail/links.ts'
import { notFound } from '../problem.ts'
import { DAY_MS, toIso } from '../times.ts'
import { newToken } from './account-tokens.ts'

/** A signed-in user in one browser. */
export type Session = {
  id: string
  userId: string
  name: string
  email: string
  hasSecondFactor: boolean
  /** The id of the single sign-on that it came through; null after a password. */
  provider: string | null
}

/** A persistent session ends after this time without use, any other session after a day. */
export const PERSISTENT_MS = 30 * DAY_MS
/** Sessions of one user. Another session ends the oldest. */
const MAX_SESSIONS = 100

/** The session with this token; undefined for an unknown or expired one. */
export async function findSession(db: Database, token: string, now: number): Promise<Session | undefined> {
  const row = await db
    .selectFrom('sessions')
    .innerJoin('people', 'people.id', 'sessions.person_id')
    .select(['sessions.id', 'person_id', 'provider', 'people.name', 'people.email', 'people.two_factor_enabled'])
    .where('token_hash', '=', hashOfToken(token))
    .where('expires_at', '>', now)
    .executeTakeFirst()
  if (!row) return undefined
  const { id, person_id: userId, name, email, provider } = row
  return { id, userId, name, email, provider, hasSecondFactor: row.two_factor_enabled === 1 }
}

/** Extends a persistent session, at most once a day. Returns whether it did. */
export async function extendSession(db: Database, id: string, now: number): Promise<boolean> {
  const extended = await db
    .updateTable('sessions')
    .set({ expires_at: now + PERSISTENT_MS })
    .where('id', '=', id)
    .where('is_persistent', '=', 1)
    .where('expires_at', '<=', now + PERSISTENT_MS - DAY_MS)
    .executeTakeFirst()
    .catch(ignoreNotWritable)
  return (extended?.numUpdatedRows ?? 0n) > 0n
}

/** The origin of a request that a browser sent. `userAgent`: at most 500 characters. */
export type BrowserOrigin = Origin & { address: string; userAgent: string | null }

export type StartedSession = { token: string; isPersistent: boolean }

/** Call `setSessionCookie` after the transaction is committed. */
export async function insertSession(
  db: Database,
  { userId, isPersistent, provider }: { userId: string; isPersistent: boolean; provider?: string },
  { address, userAgent, now }: BrowserOrigin,
): Promise<StartedSession> {
  const token = newToken()
  await db
    .insertInto('sessions')
    .values({
      ...{ id: newId('ses', now), token_hash: hashOfToken(token), person_id: userId, created_at: now },
      ...{ expires_at: now + (isPersistent ? PERSISTENT_MS : DAY_MS), is_persistent: isPersistent ? 1 : 0 },
      ...{ address, user_agent: userAgent, provider: provider ?? null },
    })
    .execute()
  await deleteOldestSessions(db, userId)
  return { token, isPersistent }
}

async function deleteOldestSessions(db: Database, userId: string): Promise<void> {
  const oldest = db
    .selectFrom('sessions')
    .select('id')
    .where('person_id', '=', userId)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    // SQLite requires a LIMIT for an OFFSET.
    .limit(1_000)
    .offset(MAX_SESSIONS)
  await db.deleteFrom('sessions').where('person_id', '=', userId).where('id', 'in', oldest).execute()
}

/** Newest first. */
export async function listSessions(db: Database, { id, userId }: Session, now: number): Promise<Sessions['data']> {
  const rows = await db
    .selectFrom('sessions')
    .select(['id', 'created_at', 'expires_at', 'address', 'user_agent'])
    .where('person_id', '=', userId)
    .where('expires_at', '>', now)
    .orderBy('created_at', 'desc')
    .limit(MAX_SESSIONS)
    .execute()
  return rows.map((row) => ({
    id: row.id,
    created: toIso(row.created_at),
    expires: toIso(row.expires_at),
    address: row.address,
    user_agent: row.user_agent,
    current: row.id === id,
  }))
}

/** Takes effect at once in every process. Throws `not_found` for a session of another user. */
export async function deleteSession(db: Database, userId: string, id: string): Promise<void> {
  const query = db.deleteFrom('sessions').where('person_id', '=', userId).where('id', '=', id)
  if ((await query.executeTakeFirst()).numDeletedRows === 0n) throw notFound()
}

/** All sessions of a user, except one if given. */
export async function deleteSessions(db: Database, userId: string, exceptId = ''): Promise<void> {
  await db.deleteFrom('sessions').where('person_id', '=', userId).where('id', '!=', exceptId).execute()
}
