import { sql } from 'kysely'
import type { Database } from '../database/database.ts'

/** What tries at a secret are counted for: an account, an address, a device. `free`: how many in a row need not wait. */
export type Guarded = { subject: string; free: number }

/** After this long without a try a subject begins anew. */
const FORGET_MS = 60 * 60_000
/** A row so far in the future was written before the machine's clock was set back. */
const SET_BACK_MS = 60_000

/**
 * Counts one try before it is made, so that a crowd of them at once gains nothing; holds for all processes. Returns when
 * the next is free where this one came too early, else undefined. After the free ones: five that wait 15 seconds, five a
 * minute, then one in 15 minutes.
 */
export async function countAttempt(db: Database, { subject, free }: Guarded, now: number): Promise<number | undefined> {
  const count = sql`case when attempts.made_at <= ${now - FORGET_MS} then 1 else attempts.count + 1 end`
  const wait = sql`case when ${count} < ${free} then 0 when ${count} < ${free + 5} then 15000
    when ${count} < ${free + 10} then 60000 else 900000 end`
  const { rows } = await sql`
    insert into attempts (subject, count, made_at, free_at) values (${subject}, 1, ${now}, ${now})
    on conflict (subject) do update set count = ${count}, made_at = ${now}, free_at = cast(${now} as bigint) + ${wait}
    where attempts.free_at <= ${now} or attempts.made_at > ${now + SET_BACK_MS} returning 1 as counted`.execute(db)
  if (rows.length > 0) return undefined
  const row = await db.selectFrom('attempts').select('free_at').where('subject', '=', subject).executeTakeFirst()
  return row?.free_at ?? now
}

/** The try was right: it is as if it had not been made. */
export async function uncountAttempt(db: Database, subject: string): Promise<void> {
  await sql`update attempts set count = count - 1, free_at = made_at where subject = ${subject} and count > 0`.execute(
    db,
  )
}

/** The subject proved itself: all its tries are forgotten. */
export async function forgetAttempts(db: Database, subject: string): Promise<void> {
  await db.deleteFrom('attempts').where('subject', '=', subject).execute()
}
