import { recordAudit } from '../audit-log.ts'
import type { RequestContext } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { getTenantRow } from '../database/tenant-row.ts'
import { insertTest, toReceiver } from './new-requests.ts'
import { wakeDispatcher } from './pause-and-resume.ts'
import { getRequestRow } from './request-store.ts'

/** Makes a test that the dispatcher sends at once, also to a webhook that is paused or disabled. Returns its id. */
export async function createTestRequest(db: Database, context: RequestContext, webhookId: string): Promise<string> {
  const { organizationId, now } = context
  return await inTransaction(db, async (transaction) => {
    const row = await getTenantRow(transaction, 'webhooks', context, webhookId)
    const id = await insertTest(transaction, { organizationId, ...toReceiver(row) }, now)
    const audited = { object: { id: webhookId, label: row.url }, after: { request_id: id } }
    await recordAudit(transaction, context, { action: 'webhook.tested', ...audited })
    return id
  })
}

/**
 * Has a request of any status attempted once, at once, also of a webhook that is paused or disabled. Its schedule is not
 * touched. One that is being attempted at this moment is left to that. Throws `not_found`.
 */
export async function retryRequest(
  db: Database,
  context: RequestContext,
  webhookId: string,
  requestId: string,
): Promise<void> {
  const { now } = context
  await getRequestRow(db, context, webhookId, requestId)
  await inTransaction(db, async (transaction) => {
    await transaction
      .insertInto('due_requests')
      .values({ webhook_id: webhookId, request_id: requestId, due_at: now, is_manual: 1 })
      .onConflict((conflict) =>
        conflict
          .columns(['webhook_id', 'request_id'])
          .doUpdateSet({ due_at: now, is_manual: 1, claimed_by: null })
          .where((where) =>
            where.or([where('due_requests.claimed_by', 'is', null), where('due_requests.due_at', '<=', now)]),
          ),
      )
      .execute()
    await wakeDispatcher(transaction, [webhookId], now)
    const { url } = await getTenantRow(transaction, 'webhooks', context, webhookId)
    const audited = { object: { id: webhookId, label: url }, after: { request_id: requestId } }
    await recordAudit(transaction, context, { action: 'webhook.request_retried', ...audited })
  })
}
