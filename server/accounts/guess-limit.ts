import { hash, randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { sql } from 'kysely'
import type { Database } from '../database/database.ts'
import type { Deps } from '../deps.ts'
import { clientNetwork, ipv6Network } from '../http/auth-and-rate-limit.ts'
import { secondsToWait, tryAgainIn } from '../http/limits.ts'
import { Problem } from '../problem.ts'
import { readCookie, setCookie } from './sessions.ts'

/** What tries at a secret are counted for: an account, an address, a device. `free`: how many in a row need not wait. */
export type AttemptCounter = { subject: string; free: number }
/** `own`: proves itself by being right, and then starts over. The others are spared that one try alone. */
export type Attempt = { own: AttemptCounter; others: readonly AttemptCounter[] }

type AttemptDeps = Pick<Deps, 'db' | 'clock'>

/** Runs what tries at a secret. Throws 429, and runs nothing, when there were too many tries for anything it is counted for. */
export async function limitAttempts<T>(
  deps: AttemptDeps,
  reply: FastifyReply,
  { own, others }: Attempt,
  work: () => Promise<T>,
): Promise<T> {
  await countAttempts(deps, reply, [...others, own])
  const result = await work()
  await forgetAttempts(deps.db, own.subject)
  for (const { subject } of others) await takeBackAttempt(deps.db, subject)
  return result
}

/**
 * Counts what is slowed down whether it is right or not. Throws 429, and then nothing is counted: a network that is refused
 * cannot use up the tries of somebody's account.
 */
export async function countAttempts(
  { db, clock }: AttemptDeps,
  reply: FastifyReply,
  subjects: readonly AttemptCounter[],
): Promise<void> {
  for (const [index, subject] of subjects.entries()) {
    const now = clock.now()
    const freeAt = await countAttempt(db, subject, now)
    if (freeAt === undefined) continue
    for (const counted of subjects.slice(0, index)) await takeBackAttempt(db, counted.subject)
    const seconds = secondsToWait({ freeAt }, now)
    reply.header('retry-after', String(seconds))
    throw new Problem(429, `Too many attempts. ${tryAgainIn(seconds)}`)
  }
}

/** A customer of a provider gets up to a /48, and could else try from 65,536 networks. Others may share it, so more tries are free. */
const SITE = { bits: 48, times: 5 }

/** What a try from an address is counted for: its own network and, in IPv6, the larger one around it. */
export function addressCounters(kind: string, ip: string, free: number): AttemptCounter[] {
  const site = ipv6Network(ip, SITE.bits)
  const own = { subject: `${kind} from ${clientNetwork(ip)}`, free }
  return site === undefined ? [own] : [own, { subject: `${kind} from ${site}`, free: free * SITE.times }]
}

/** What tries at the password or the code of a known person are counted for. */
export const userAttempt = (what: 'code' | 'password', userId: string, ip: string): Attempt => ({
  own: { subject: `${what} of ${userId}`, free: 5 },
  others: addressCounters('sign-in', ip, 20),
})

/** An account is counted under a name that does not show whose it is. */
export const hashedSubject = (kind: string, text: string): string =>
  `${kind} ${hash('sha256', text.trim().toLowerCase())}`

type DeviceDeps = Pick<Deps, 'seal' | 'config'>
const YEAR_MS = 365 * 24 * 60 * 60_000

/**
 * What tries at a password are counted for. A browser in which the account signed in before is counted by itself, so that
 * strangers who try the account's password lock strangers out, and not its owner.
 */
export function signInAttempt({ seal, config }: DeviceDeps, request: FastifyRequest, email: string): Attempt {
  const account = hashedSubject('account', email)
  const others = addressCounters('sign-in', request.ip, 20)
  const [, nonce = '', signature = ''] =
    /^([\w-]{16})\.([\w-]{22})$/.exec(readCookie(request, config, 'device') ?? '') ?? []
  const device = `device ${nonce} of ${account}`
  const isKnown = nonce !== '' && seal.isSigned(device, Buffer.from(signature, 'base64url'))
  return { own: isKnown ? { subject: device, free: 10 } : { subject: account, free: 5 }, others }
}

/** Remembers that the account signed in here. The cookie gives no access. */
export function rememberDevice({ seal, config }: DeviceDeps, reply: FastifyReply, email: string): void {
  const nonce = randomBytes(12).toString('base64url')
  const signature = seal.sign(`device ${nonce} of ${hashedSubject('account', email)}`).toString('base64url')
  setCookie(reply, config, 'device', `${nonce}.${signature}`, YEAR_MS)
}

/** After this long without a try a subject starts over. */
const FORGET_MS = 60 * 60_000
/** A row so far in the future was written before the machine's clock was set back. */
const SET_BACK_MS = 60_000

/**
 * Counts one try before it is made, so that a crowd of them at once gains nothing; holds for all processes. Returns when
 * the next is free where this one came too early, else undefined. After the free ones: five that wait 15 seconds, five a
 * minute, then one in 15 minutes.
 */
export async function countAttempt(
  db: Database,
  { subject, free }: AttemptCounter,
  now: number,
): Promise<number | undefined> {
  const count = sql`case when attempts.last_attempt_at <= ${now - FORGET_MS} then 1 else attempts.count + 1 end`
  const wait = sql`case when ${count} < ${free} then 0 when ${count} < ${free + 5} then 15000
    when ${count} < ${free + 10} then 60000 else 900000 end`
  const { rows } = await sql`
    insert into attempts (subject, count, last_attempt_at, next_attempt_at) values (${subject}, 1, ${now}, ${now})
    on conflict (subject) do update set count = ${count}, last_attempt_at = ${now}, next_attempt_at = cast(${now} as bigint) + ${wait}
    where attempts.next_attempt_at <= ${now} or attempts.last_attempt_at > ${now + SET_BACK_MS} returning 1 as counted`.execute(
    db,
  )
  if (rows.length > 0) return undefined
  const row = await db
    .selectFrom('attempts')
    .select('next_attempt_at')
    .where('subject', '=', subject)
    .executeTakeFirst()
  return row?.next_attempt_at ?? now
}

/** The try was right: it is as if it had not been made. */
export async function takeBackAttempt(db: Database, subject: string): Promise<void> {
  await sql`update attempts set count = count - 1, next_attempt_at = last_attempt_at where subject = ${subject} and count > 0`.execute(
    db,
  )
}

/** The subject proved itself: all its tries are forgotten. */
export async function forgetAttempts(db: Database, subject: string): Promise<void> {
  await db.deleteFrom('attempts').where('subject', '=', subject).execute()
}
