import { updateEach } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { LEASE_MS } from '../database/lease-queue.ts'
import { nextTryAt } from './retry.ts'

const AT_ONCE = 200

/**
 * Brings back mails that wait for a time that only the clock had before it was set back: each waits as long again as it had to
 * after its last try, a lease its minute. What this process is sending is left to it.
 */
export async function repairAfterClockStep(
  db: Database,
  { now, process }: { now: number; process: number },
): Promise<void> {
  for (let from: { due_at: number | null; mail_id: string } = { due_at: now, mail_id: '' }; ; ) {
    const waiting = await readWaiting(db, from)
    const rows = waiting
      .filter((mail) => mail.claimed_by !== process && mail.due_at! > now + longestWaitOf(mail))
      .map((mail) => ({ ...mail, new_due_at: now + longestWaitOf(mail), new_claimed_by: null }))
    const key = { mail_id: 'text', due_at: 'bigint' } as const
    await updateEach(db, { table: 'due_mails', key, set: { due_at: 'bigint', claimed_by: 'bigint' } }, rows)
    if (waiting.length < AT_ONCE) return
    from = waiting.at(-1)!
  }
}

const longestWaitOf = ({ claimed_by, attempts }: { claimed_by: number | null; attempts: number }) =>
  claimed_by === null ? (nextTryAt(attempts, 0) ?? 0) : LEASE_MS

async function readWaiting(db: Database, from: { due_at: number | null; mail_id: string }) {
  return await db
    .selectFrom('due_mails')
    .innerJoin('mails', 'mails.id', 'due_mails.mail_id')
    .select(['mail_id', 'due_at', 'claimed_by', 'attempts'])
    .where(({ eb, refTuple, tuple }) => eb(refTuple('due_at', 'mail_id'), '>', tuple(from.due_at ?? 0, from.mail_id)))
    .orderBy('due_at')
    .orderBy('mail_id')
    .limit(AT_ONCE)
    .execute()
}
