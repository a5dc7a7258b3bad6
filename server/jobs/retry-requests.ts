import type { Tenant } from '../context.ts'
import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import { requeue } from '../webhooks/replay.ts'
import type { ActionContext, ActionResult } from './actions.ts'
import { EMPTY_RESULT, type JobResult } from './job.ts'

type LockedRequest = {
  id: string
  webhook_id: string
  event_id: string | null
  created_at: number
  status: string
  url: string | null
}

/**
 * Sends webhook requests of one batch again, each with a new retry schedule. Skips tests, delivered requests and requests that are
 * being sent.
 */
export async function retryRequests(
  db: Database,
  context: ActionContext,
  ids: readonly string[],
): Promise<ActionResult> {
  const requests = await lockRequests(db, context, ids)
  const byWebhook = Map.groupBy(
    requests.filter(({ event_id, status, url }) => event_id !== null && status !== 'DELIVERED' && url !== null),
    ({ webhook_id }) => webhook_id,
  )
  const queued = new Set<string>()
  for (const [webhookId, rows] of byWebhook) {
    const queuedIds = context.job.is_dry_run
      ? rows.map(({ id }) => id)
      : await requeue(db, { ...context, webhookId }, rows, context.now)
    for (const id of queuedIds) queued.add(id)
  }
  const requestsById = new Map(requests.map((row) => [row.id, row]))
  return { results: ids.map((id) => resultOf(id, requestsById.get(id), queued.has(id))), remaining: [] }
}

/** In a fixed order, so that two writers do not deadlock. */
async function lockRequests(
  db: Database,
  { organizationId }: Tenant,
  ids: readonly string[],
): Promise<LockedRequest[]> {
  const rows = await db
    .selectFrom('webhook_requests')
    .select(['id', 'webhook_id', 'event_id', 'created_at', 'status'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'id', ids))
    .orderBy('webhook_id')
    .orderBy('id')
    .modifyEnd(forUpdate(db))
    .execute()
  const webhooks = await db
    .selectFrom('webhooks')
    .select(['id', 'url'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'id', [...new Set(rows.map(({ webhook_id }) => webhook_id))]))
    .execute()
  const urls = new Map(webhooks.map(({ id, url }) => [id, url]))
  return rows.map((row) => ({ ...row, url: urls.get(row.webhook_id) ?? null }))
}

function resultOf(id: string, row: LockedRequest | undefined, isQueued: boolean): JobResult {
  const result = { ...EMPTY_RESULT, object_id: id, name: row?.url ?? null }
  if (!row || row.url === null) {
    return { ...result, state: 'failed', code: 'request_not_found', error: 'The request does not exist.' }
  }
  if (!isQueued) return { ...result, state: 'unchanged' }
  const { webhook_id, status } = row
  const [changed_from, changed_to] = [status, 'PENDING'].map((each) => JSON.stringify({ webhook_id, status: each }))
  return { ...result, state: 'changed', changed_from: changed_from!, changed_to: changed_to! }
}
