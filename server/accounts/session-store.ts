import type { Sessions } from '#contract/account.ts'
import type { Database } from '../database/database.ts'
import { isoOf } from '../http/times.ts'
import { notFound } from '../problem.ts'

type Own = { id: string; personId: string }

/** Where the person is signed in, newest first. Tokens are not told: nothing needs them. */
export async function listSessions(db: Database, { id, personId }: Own, now: number): Promise<Sessions['data']> {
  const rows = await db
    .selectFrom('sessions')
    .select(['id', 'created_at', 'expires_at', 'ip_address', 'user_agent'])
    .where('person_id', '=', personId)
    .where('expires_at', '>', now)
    .orderBy('created_at', 'desc')
    .limit(100)
    .execute()
  return rows.map((row) => ({
    id: row.id,
    created: isoOf(row.created_at),
    expires: isoOf(row.expires_at),
    address: row.ip_address || null,
    user_agent: row.user_agent || null,
    current: row.id === id,
  }))
}

/** Holds in every process at once. Throws `not_found` for one that is not the person's. */
export async function endSession(db: Database, personId: string, id: string): Promise<void> {
  const { numDeletedRows } = await db
    .deleteFrom('sessions')
    .where('person_id', '=', personId)
    .where('id', '=', id)
    .executeTakeFirst()
  if (numDeletedRows === 0n) throw notFound()
}

export async function endOtherSessions(db: Database, { id, personId }: Own): Promise<void> {
  await db.deleteFrom('sessions').where('person_id', '=', personId).where('id', '!=', id).execute()
}

export async function endSessions(db: Database, personId: string): Promise<void> {
  await db.deleteFrom('sessions').where('person_id', '=', personId).execute()
}

/** So many sessions of one person there can be; a further one ends the oldest. */
const MOST_SESSIONS = 100

export async function endOldestSessions(db: Database, personId: string): Promise<void> {
  const oldest = db
    .selectFrom('sessions')
    .select('id')
    .where('person_id', '=', personId)
    .orderBy('created_at', 'desc')
    .orderBy('id')
    // SQLite knows no OFFSET without a LIMIT.
    .limit(1_000)
    .offset(MOST_SESSIONS)
  await db.deleteFrom('sessions').where('person_id', '=', personId).where('id', 'in', oldest).execute()
}

/** After a new password: browsers that needed no code, and sign-ins that wait for their code, hold no more. */
export async function forgetTrust(db: Database, personId: string): Promise<void> {
  await db.deleteFrom('verifications').where('value', '=', personId).execute()
}
