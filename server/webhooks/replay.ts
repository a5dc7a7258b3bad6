import { fieldError } from '#contract/field-errors.ts'
import type { RequestStatus } from '#contract/webhooks.ts'
import { appendToAudit, newAuditId } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { isOneOf, updateEach } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { getTenantRow } from '../database/tenant-row.ts'
import { invalid } from '../problem.ts'
import { toIso } from '../times.ts'
import { yieldToEventLoop } from '../yield.ts'
import { makeRequestsDue, makeWebhooksDue } from './due-webhooks.ts'

/** Requests created from `since` (inclusive) to `until` (exclusive), without tests. Default of `statuses`: all. */
export type Period = { since: number; until: number; statuses?: readonly RequestStatus[] | undefined }

/** A period with more requests is refused before anything is sent. */
export const MAX_REPLAYED = 100_000
const BATCH_SIZE = 200
const COUNT_BATCH_SIZE = 2_000

/** Stored as JSON. `auditId`: its entry in the audit log. */
export type ReplayProgress = {
  period: Period
  count: number
  auditId: string
  url: string
  from?: RequestPosition | undefined
}

/** Throws `not_found`, and a 400 for too many requests. */
export async function startReplay(
  db: Database,
  context: RequestContext,
  webhookId: string,
  period: Period,
  limit = MAX_REPLAYED,
): Promise<ReplayProgress> {
  const { url } = await getTenantRow(db, 'webhooks', context, webhookId)
  await refuseTooMany(db, { ...context, webhookId }, period, limit)
  return { period, count: 0, auditId: newAuditId(context), url }
}

/** Requeues the next batch of the period, oldest first: the same ids and bodies, a new retry schedule. */
export async function replayBatch(db: Database, context: RequestContext, webhookId: string, replaying: ReplayProgress) {
  const { period, count, auditId, url, from } = replaying
  const rows = await readBatch(db, { ...context, webhookId }, period, from, BATCH_SIZE)
  if (rows.length > 0) await requeue(db, { ...context, webhookId }, rows, context.now)
  const { since, until, statuses } = period
  await appendToAudit(db, context, auditId, {
    action: 'webhook.replayed',
    object: { id: webhookId, label: url },
    ids: rows.map(({ id }) => id),
    after: { since: toIso(since), until: toIso(until), status: statuses },
  })
  const result: ReplayProgress = { ...replaying, count: count + rows.length, from: rows.at(-1) }
  return { result, isDone: rows.length < BATCH_SIZE }
}

/** The number of requests of the period by status, each counted up to `limit`. Throws `not_found`. */
export async function countByStatus(
  db: Database,
  tenant: Tenant,
  webhookId: string,
  { since, until }: Period,
  limit: number,
): Promise<Record<RequestStatus, number>> {
  await getTenantRow(db, 'webhooks', tenant, webhookId)
  const ofPeriod = () =>
    db
      .selectFrom('webhook_requests')
      .where('organization_id', '=', tenant.organizationId)
      .where('webhook_id', '=', webhookId)
      .where('created_at', '>=', since)
      .where('created_at', '<', until)
      .where('event_id', 'is not', null)
  const countStatus = async (status: RequestStatus) => {
    // An index has the undelivered requests. Of the others only the newest of the period are read.
    const rows =
      status === 'DELIVERED'
        ? ofPeriod().select('status').orderBy('created_at', 'desc').limit(MAX_REPLAYED)
        : ofPeriod().select('status').where('status', '=', status).where('status', '<>', 'DELIVERED')
    const some = db.selectFrom(rows.as('rows')).select('status').where('status', '=', status).limit(limit)
    const { count } = await db
      .selectFrom(some.as('some'))
      .select(db.fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    return count
  }
  return {
    PENDING: await countStatus('PENDING'),
    RETRYING: await countStatus('RETRYING'),
    FAILED: await countStatus('FAILED'),
    DELIVERED: await countStatus('DELIVERED'),
  }
}

type RequestPosition = { id: string; created_at: number }

type WebhookTenant = Tenant & { webhookId: string }

async function refuseTooMany(db: Database, webhook: WebhookTenant, period: Period, limit: number): Promise<void> {
  let count = 0
  for (let from: RequestPosition | undefined; ; ) {
    const rows = await readBatch(db, webhook, period, from, COUNT_BATCH_SIZE)
    count += rows.length
    from = rows.at(-1)
    if (count > limit) {
      throw invalid({ since: fieldError('period_too_large', { max: limit }) })
    }
    if (rows.length < COUNT_BATCH_SIZE) return
    await yieldToEventLoop()
  }
}

/** The next requests of the period, in the order of an index. */
async function readBatch(
  db: Database,
  { organizationId, webhookId }: WebhookTenant,
  { since, until, statuses }: Period,
  from: RequestPosition | undefined,
  limit: number,
): Promise<RequestPosition[]> {
  let rows = db
    .selectFrom('webhook_requests')
    .select(['id', 'created_at'])
    .where('organization_id', '=', organizationId)
    .where('webhook_id', '=', webhookId)
    .where('created_at', '<', until)
    .where('event_id', 'is not', null)
  if (statuses !== undefined) rows = rows.where('status', 'in', statuses)
  rows = from
    ? rows.where(({ eb, refTuple, tuple }) => eb(refTuple('created_at', 'id'), '>', tuple(from.created_at, from.id)))
    : rows.where('created_at', '>=', since)
  return await rows.orderBy('created_at').orderBy('id').limit(limit).execute()
}

/** Queues the requests with a new retry schedule, except those that are being attempted. Returns the ids of the queued ones. */
export async function requeue(
  db: Database,
  { organizationId, webhookId }: WebhookTenant,
  rows: readonly RequestPosition[],
  now: number,
): Promise<string[]> {
  const inFlight = await db
    .selectFrom('due_requests')
    .select('request_id')
    .where('webhook_id', '=', webhookId)
    .where(
      isOneOf(
        db,
        'request_id',
        rows.map(({ id }) => id),
      ),
    )
    .where('claimed_by', 'is not', null)
    .where('due_at', '>', now)
    .execute()
  const inFlightIds = new Set(inFlight.map(({ request_id }) => request_id))
  const ids = rows.map(({ id }) => id).filter((id) => !inFlightIds.has(id))
  if (ids.length === 0) return []
  const queued = await makeRequestsDue(db, webhookId, ids, { isManual: false, now })
  const set = { status: 'text', retries: 'bigint', next_attempt_at: 'bigint' } as const
  await updateEach(
    db,
    { table: 'webhook_requests', key: { id: 'text', organization_id: 'text' }, set },
    queued.map((id) => ({
      id,
      organization_id: organizationId,
      new_status: 'PENDING',
      new_retries: 0,
      new_next_attempt_at: now,
    })),
  )
  await makeWebhooksDue(db, [webhookId], now)
  return queued
}
