import { updateEach } from '../database/bulk.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { wakeDispatcher } from './pause-and-resume.ts'

/**
 * Gives back what this process claims without knowing of it, because the answer to its claim was lost. Walks the queue: for
 * after a failure only.
 */
export async function releaseOrphanedClaims(
  db: Database,
  process: number,
  held: ReadonlySet<string>,
  now: number,
): Promise<void> {
  const claimed = await db
    .selectFrom('due_requests')
    .select(['webhook_id', 'request_id', 'due_at', 'claimed_by'])
    .where('claimed_by', '=', process)
    .where('due_at', '>', now)
    .execute()
  const orphans = claimed.filter(({ request_id }) => !held.has(request_id))
  const key = { webhook_id: 'text', request_id: 'text', due_at: 'bigint', claimed_by: 'bigint' } as const
  const set = { due_at: 'bigint', claimed_by: 'bigint' } as const
  const rows = orphans.map((orphan) => ({ ...orphan, new_due_at: now, new_claimed_by: null }))
  await inTransaction(db, async (transaction) => {
    await updateEach(transaction, { table: 'due_requests', key, set }, rows)
    await wakeDispatcher(transaction, [...new Set(orphans.map(({ webhook_id }) => webhook_id))], now)
  })
}
