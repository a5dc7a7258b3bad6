import { hash, randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { sql } from 'kysely'
import type { Database } from '../database/database.ts'
import type { Deps } from '../deps.ts'
import { clientNetwork, ipv6Network } from '../http/auth-and-rate-limit.ts'
import { secondsUntil, tryAgainIn } from '../http/rate-limits.ts'
import { Problem } from '../problem.ts'
import { readCookie, setCookie } from './cookies.ts'

/** `subject`: an account, an address or a device. `free`: attempts in a row without waiting. */
export type AttemptCounter = { subject: string; free: number }
/** `primary`: reset after a success. `others`: a success only takes its own attempt back. */
export type Attempt = { primary: AttemptCounter; others: readonly AttemptCounter[] }

type AttemptDeps = Pick<Deps, 'db' | 'clock'>

/** Runs the check of a secret. Throws 429 without running it after too many attempts for any counter. */
export async function limitAttempts<T>(
  deps: AttemptDeps,
  reply: FastifyReply,
  { primary, others }: Attempt,
  work: () => Promise<T>,
): Promise<T> {
  await countAttempts(deps, reply, [...others, primary])
  const result = await work()
  await resetAttempts(deps.db, primary.subject)
  for (const { subject } of others) await takeBackAttempt(deps.db, subject)
  return result
}

/**
 * Counts an attempt whether it succeeds or not. Throws 429 and counts nothing if one counter is at its limit, so that a
 * refused network cannot use up the attempts of an account.
 */
export async function countAttempts(
  { db, clock }: AttemptDeps,
  reply: FastifyReply,
  counters: readonly AttemptCounter[],
): Promise<void> {
  for (const [index, counter] of counters.entries()) {
    const now = clock.now()
    const nextAttemptAt = await countAttempt(db, counter, now)
    if (nextAttemptAt === undefined) continue
    for (const { subject } of counters.slice(0, index)) await takeBackAttempt(db, subject)
    const seconds = secondsUntil(nextAttemptAt, now)
    reply.header('retry-after', String(seconds))
    throw new Problem(429, `Too many attempts. ${tryAgainIn(seconds)}`)
  }
}

/** Counts an attempt for each subject, with 5 free ones, for routes of other folders. */
export const attemptLimiter = (deps: AttemptDeps) => (reply: FastifyReply, subjects: readonly string[]) =>
  countAttempts(
    deps,
    reply,
    subjects.map((subject) => ({ subject, free: 5 })),
  )

/** Providers assign up to a /48, which has 65,536 networks. Several customers may share it, so it has more free attempts. */
const SITE = { bits: 48, factor: 5 }

/** Counters for the client's network and, in IPv6, the /48 around it. */
export function addressCounters(kind: string, ip: string, free: number): AttemptCounter[] {
  const site = ipv6Network(ip, SITE.bits)
  const network = { subject: `${kind} from ${clientNetwork(ip)}`, free }
  return site === undefined ? [network] : [network, { subject: `${kind} from ${site}`, free: free * SITE.factor }]
}

/** An attempt at the password or the code of a known user. */
export const userAttempt = (secret: 'code' | 'password', userId: string, ip: string): Attempt => ({
  primary: { subject: `${secret} of ${userId}`, free: 5 },
  others: addressCounters('sign-in', ip, 20),
})

/** A subject that does not reveal the email address. */
export const hashedSubject = (kind: string, text: string): string =>
  `${kind} ${hash('sha256', text.trim().toLowerCase())}`

type DeviceDeps = Pick<Deps, 'keyring' | 'config'>
const YEAR_MS = 365 * 24 * 60 * 60_000

/**
 * An attempt to sign in. A browser in which the account signed in before has its own counter, so that attacks on an account
 * do not lock out its owner.
 */
export function signInAttempt({ keyring, config }: DeviceDeps, request: FastifyRequest, email: string): Attempt {
  const account = hashedSubject('account', email)
  const others = addressCounters('sign-in', request.ip, 20)
  const [, nonce = '', signature = ''] =
    /^([\w-]{16})\.([\w-]{22})$/.exec(readCookie(request, config, 'device') ?? '') ?? []
  const device = `device ${nonce} of ${account}`
  const isKnown = nonce !== '' && keyring.verify(device, Buffer.from(signature, 'base64url'))
  return { primary: isKnown ? { subject: device, free: 10 } : { subject: account, free: 5 }, others }
}

/** Remembers that the account signed in with this browser. The cookie gives no access. */
export function rememberDevice({ keyring, config }: DeviceDeps, reply: FastifyReply, email: string): void {
  const nonce = randomBytes(12).toString('base64url')
  const signature = keyring.sign(`device ${nonce} of ${hashedSubject('account', email)}`).toString('base64url')
  setCookie(reply, config, 'device', `${nonce}.${signature}`, YEAR_MS)
}

/** A counter starts again after this time without an attempt. */
const RESET_MS = 60 * 60_000
/** A row further in the future was written before the clock was set back. */
const CLOCK_SET_BACK_MS = 60_000

/**
 * Counts an attempt before it runs, so that concurrent attempts gain nothing, in any process. Returns the time of the next
 * attempt if this one came too early. After the free attempts: five that wait 15 seconds, five that wait a minute, then 15 minutes.
 */
export async function countAttempt(
  db: Database,
  { subject, free }: AttemptCounter,
  now: number,
): Promise<number | undefined> {
  const count = sql`case when attempts.last_attempt_at <= ${now - RESET_MS} then 1 else attempts.count + 1 end`
  const wait = sql`case when ${count} < ${free} then 0 when ${count} < ${free + 5} then 15000
    when ${count} < ${free + 10} then 60000 else 900000 end`
  const { rows } = await sql`
    insert into attempts (subject, count, last_attempt_at, next_attempt_at) values (${subject}, 1, ${now}, ${now})
    on conflict (subject) do update
    set count = ${count}, last_attempt_at = ${now}, next_attempt_at = cast(${now} as bigint) + ${wait}
    where attempts.next_attempt_at <= ${now} or attempts.last_attempt_at > ${now + CLOCK_SET_BACK_MS}
    returning 1 as counted`.execute(db)
  if (rows.length > 0) return undefined
  const row = await db
    .selectFrom('attempts')
    .select('next_attempt_at')
    .where('subject', '=', subject)
    .executeTakeFirst()
  return row?.next_attempt_at ?? now
}

/** After a success: as if the attempt had not been made. */
export async function takeBackAttempt(db: Database, subject: string): Promise<void> {
  await sql`update attempts set count = count - 1, next_attempt_at = last_attempt_at
    where subject = ${subject} and count > 0`.execute(db)
}

export async function resetAttempts(db: Database, subject: string): Promise<void> {
  await db.deleteFrom('attempts').where('subject', '=', subject).execute()
}
