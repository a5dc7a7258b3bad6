import { hash } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import type { Deps } from '../deps.ts'
import { ipv6NetworkOf, networkOf } from '../http/auth-and-rate-limit.ts'
import { secondsToWait } from '../http/limits.ts'
import { Problem } from '../problem.ts'
import { countAttempt, forgetAttempts, type Guarded, uncountAttempt } from './attempts.ts'

/** `own`: proves itself by being right, and then begins anew. The others are spared that one try alone. */
export type Tried = { own: Guarded; others: readonly Guarded[] }

/** Runs what tries at a secret. Throws 429, and runs nothing, when there were too many tries for anything it is counted for. */
export async function guarded<T>(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  reply: FastifyReply,
  { own, others }: Tried,
  work: () => Promise<T>,
): Promise<T> {
  await count({ db, clock }, reply, [...others, own])
  const result = await work()
  await forgetAttempts(db, own.subject)
  for (const { subject } of others) await uncountAttempt(db, subject)
  return result
}

/**
 * Counts what is slowed down whether it is right or not. Throws 429, and then nothing is counted: a network that is refused
 * cannot use up the tries of somebody's account.
 */
export async function count(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  reply: FastifyReply,
  subjects: readonly Guarded[],
): Promise<void> {
  for (const [index, subject] of subjects.entries()) {
    const now = clock.now()
    const freeAt = await countAttempt(db, subject, now)
    if (freeAt === undefined) continue
    for (const counted of subjects.slice(0, index)) await uncountAttempt(db, counted.subject)
    const seconds = secondsToWait({ freeAt }, now)
    reply.header('retry-after', String(seconds))
    throw new Problem(429, `Too many tries; try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`)
  }
}

/** A customer of a provider gets up to a /48, and could else try from 65,536 networks. Others may share it, so more tries are free. */
const SITE = { bits: 48, times: 5 }

/** What a try from an address is counted for: its own network and, in IPv6, the larger one around it. */
export function fromAddress(kind: string, ip: string, free: number): Guarded[] {
  const site = ipv6NetworkOf(ip, SITE.bits)
  const own = { subject: `${kind} from ${networkOf(ip)}`, free }
  return site === undefined ? [own] : [own, { subject: `${kind} from ${site}`, free: free * SITE.times }]
}

/** An account is counted under a name that does not show whose it is. */
export const subjectOf = (kind: string, text: string): string => `${kind} ${hash('sha256', text.trim().toLowerCase())}`
