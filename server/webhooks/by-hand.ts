import { type Database, inTransaction } from '../database/database.ts'
import { insertTest } from './new-requests.ts'
import { getRequestRow } from './request-store.ts'
import { lookSoon } from './states.ts'
import { getWebhookRow } from './store.ts'

/** Makes a test that the courier sends at once, also to a webhook that is paused or disabled. Returns its id. */
export async function askForTest(
  db: Database,
  organizationId: string,
  webhookId: string,
  now: number,
): Promise<string> {
  await getWebhookRow(db, organizationId, webhookId)
  return await insertTest(db, { organizationId, webhookId }, now)
}

/**
 * Has a request of any status attempted once, at once, also of a webhook that is paused or disabled. Its schedule is not
 * touched. One that is being attempted at this moment is left to that. Throws `not_found`.
 */
export async function askForRetry(
  db: Database,
  organizationId: string,
  webhookId: string,
  requestId: string,
  now: number,
): Promise<void> {
  await getRequestRow(db, organizationId, webhookId, requestId)
  await inTransaction(db, async (transaction) => {
    await transaction
      .insertInto('due_requests')
      .values({ webhook_id: webhookId, request_id: requestId, due_at: now, by_hand: 1 })
      .onConflict((conflict) =>
        conflict
          .columns(['webhook_id', 'request_id'])
          .doUpdateSet({ due_at: now, by_hand: 1, claimed_by: null })
          .where((where) =>
            where.or([where('due_requests.claimed_by', 'is', null), where('due_requests.due_at', '<=', now)]),
          ),
      )
      .execute()
    await lookSoon(transaction, [webhookId], now)
  })
}
