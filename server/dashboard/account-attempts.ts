import { hash } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import { countAttempt, forgetAttempts, type Guarded, uncountAttempt } from '../access/attempts.ts'
import { secondsToWait } from '../http/limits.ts'
import type { Doors } from '../outside.ts'
import { Problem } from '../problem.ts'

/** `own`: proves itself by being right, and then begins anew. The others are spared that one try alone. */
export type Tried = { own: Guarded; others: readonly Guarded[] }

/** Runs what tries at a secret. Throws 429, and runs nothing, when there were too many tries for anything it is counted for. */
export async function guarded<T>(
  { db, clock }: Pick<Doors, 'db' | 'clock'>,
  reply: FastifyReply,
  { own, others }: Tried,
  work: () => Promise<T>,
): Promise<T> {
  await count({ db, clock }, reply, [own, ...others])
  const result = await work()
  await forgetAttempts(db, own.subject)
  for (const { subject } of others) await uncountAttempt(db, subject)
  return result
}

/** Counts what is slowed down whether it is right or not. Throws 429. */
export async function count(
  { db, clock }: Pick<Doors, 'db' | 'clock'>,
  reply: FastifyReply,
  subjects: readonly Guarded[],
): Promise<void> {
  for (const subject of subjects) {
    const now = clock.now()
    const freeAt = await countAttempt(db, subject, now)
    if (freeAt === undefined) continue
    const seconds = secondsToWait({ freeAt }, now)
    reply.header('retry-after', String(seconds))
    throw new Problem(429, `Too many tries; try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`)
  }
}

/** An account is counted under a name that does not show whose it is. */
export const subjectOf = (kind: string, text: string): string => `${kind} ${hash('sha256', text.trim().toLowerCase())}`
