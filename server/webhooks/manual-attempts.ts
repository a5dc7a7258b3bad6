import { recordAudit } from '../audit-log.ts'
import type { RequestContext } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { getTenantRow } from '../database/tenant-row.ts'
import { makeRequestsDue, makeWebhooksDue } from './due-webhooks.ts'
import { insertTest, toReceiver } from './new-requests.ts'
import { getRequestRow } from './request-store.ts'

/** Creates a test request that is sent now, also to a paused or disabled webhook. Returns its id. */
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
 * Makes one attempt now, whatever the status of the request, also to a paused or disabled webhook. Does not change the retry
 * schedule. A request that is being attempted stays as it is. Throws `not_found`.
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
    await makeRequestsDue(transaction, webhookId, [requestId], { isManual: true, now })
    await makeWebhooksDue(transaction, [webhookId], now)
    const { url } = await getTenantRow(transaction, 'webhooks', context, webhookId)
    const audited = { object: { id: webhookId, label: url }, after: { request_id: requestId } }
    await recordAudit(transaction, context, { action: 'webhook.request_retried', ...audited })
  })
}
