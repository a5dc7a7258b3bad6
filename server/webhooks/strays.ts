import { type Database, inTransaction } from '../database/database.ts'
import { updateEach } from '../database/each.ts'
import { lookSoon } from './states.ts'

/**
 * Gives back what this process claims without knowing of it, because the answer to its claim was lost. Walks the queue: for
 * after a failure only.
 */
export async function giveBackStrays(
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
  const strays = claimed.filter(({ request_id }) => !held.has(request_id))
  const key = { webhook_id: 'text', request_id: 'text', due_at: 'bigint', claimed_by: 'bigint' } as const
  const set = { due_at: 'bigint', claimed_by: 'bigint' } as const
  const rows = strays.map((stray) => ({ ...stray, new_due_at: now, new_claimed_by: null }))
  await inTransaction(db, async (transaction) => {
    await updateEach(transaction, { table: 'due_requests', key, set }, rows)
    await lookSoon(transaction, [...new Set(strays.map(({ webhook_id }) => webhook_id))], now)
  })
}
