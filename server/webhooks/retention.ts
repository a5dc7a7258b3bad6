import { sql } from 'kysely'
import type { Logger } from 'pino'
import type { Clock } from '../clock.ts'
import type { Tenant } from '../context.ts'
import { DELETE_BATCH_SIZE, deleteInBatches } from '../database/batches.ts'
import { isOneOf } from '../database/bulk.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { octets } from '../database/dialect.ts'
import { notifyAboutWebhook } from '../mail/notifications.ts'
import { eventRetentionDays } from '../organization/quota.ts'
import type { Plans } from '../plan.ts'
import { runEvery } from '../queue/worker-loop.ts'
import { DAY_MS } from '../times.ts'
import { deleteWaitingEvents } from './batches.ts'
import { releaseEventBodies } from './request-body.ts'
import { countStored, REQUEST_BYTES } from './storage-usage.ts'

/** 0 means no limit. */
export type QueueLimits = {
  /** Queued requests of one webhook. */
  waitingRequests: number
  /** Days that a request stays queued after it was due. */
  waitingDays: number
  /** Bytes of all webhooks of an organization. */
  storedBytes: number
}

export type RetentionDeps = {
  db: Database
  clock: Clock
  log: Logger
  config: { plans: Plans; webhookKeep: QueueLimits }
}

/** Used if neither the organization nor its plan sets a retention. */
export const DEFAULT_RETENTION_DAYS = 90

const BATCH_SIZE = 200
const WEBHOOK_BATCH_SIZE = 100
/** The pause after each batch, so that other transactions can run. */
const PAUSE_MS = 20
const LIMITS_EVERY_MS = 10_000
const EXPIRED_EVERY_MS = 60 * 60_000
/** A check that was in progress when a webhook was deleted may write requests for it until then. */
const LATE_WRITES_MS = 5 * 60_000

/** Deletes expired requests, those of deleted webhooks, and those beyond the limits, in small batches. Runs until `stop`. */
export async function runWebhookRetention(deps: RetentionDeps, stop: AbortSignal): Promise<void> {
  const { clock } = deps
  let nextExpiredAt = clock.elapsed()
  await runEvery(LIMITS_EVERY_MS, deps, stop, {
    failure: 'Old webhook requests could not be deleted. Retrying.',
    work: async () => {
      await deleteRequestsOfDeletedWebhooks(deps, stop)
      await enforceStorageLimits(deps, stop)
      if (clock.elapsed() < nextExpiredAt) return
      await deleteExpired(deps, stop)
      nextExpiredAt = clock.elapsed() + EXPIRED_EVERY_MS
    },
  })
}

export async function deleteRequestsOfDeletedWebhooks(
  { db, clock }: Pick<RetentionDeps, 'db' | 'clock'>,
  stop: AbortSignal,
): Promise<void> {
  const webhooks = await db
    .selectFrom('removed_webhooks')
    .selectAll()
    .orderBy('webhook_id')
    .limit(WEBHOOK_BATCH_SIZE)
    .execute()
  for (const { webhook_id, removed_at, ...row } of webhooks) {
    const organizationId = row.organization_id ?? (await findOrganization(db, webhook_id))
    const webhook = { organizationId, webhookId: webhook_id }
    await deleteInBatches(clock, stop, () => deleteAnyRequests(db, webhook))
    if (stop.aborted) return
    await deleteInBatches(clock, stop, () => deleteWaitingEvents(db, webhook))
    if (stop.aborted) return
    if (clock.now() < removed_at + LATE_WRITES_MS) continue
    await db.deleteFrom('due_requests').where('webhook_id', '=', webhook_id).execute()
    await db.deleteFrom('removed_webhooks').where('webhook_id', '=', webhook_id).execute()
  }
}

type WebhookTenant = Tenant & { webhookId: string }

/** For a webhook that the previous version deleted. Empty if nothing of it is left. */
async function findOrganization(db: Database, webhookId: string): Promise<string> {
  for (const table of ['webhook_requests', 'batched_events'] as const) {
    const rows = db.selectFrom(table).select('organization_id').where('webhook_id', '=', webhookId)
    const row = await rows.limit(1).executeTakeFirst()
    if (row) return row.organization_id
  }
  return ''
}

const requestsOf = (db: Database, { organizationId, webhookId }: WebhookTenant) =>
  db
    .selectFrom('webhook_requests')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('webhook_id', '=', webhookId)

async function deleteAnyRequests(db: Database, webhook: WebhookTenant): Promise<number> {
  const rows = await requestsOf(db, webhook).limit(DELETE_BATCH_SIZE).execute()
  return await deleteFromQueueAndLog(db, webhook, rows)
}

/** For every webhook: deletes finished requests that are older than the retention, and enforces the limits of its queue. */
export async function deleteExpired(deps: RetentionDeps, stop: AbortSignal): Promise<void> {
  const { db, clock, config } = deps
  let after = ''
  for (;;) {
    const webhooks = await db
      .selectFrom('webhooks')
      .select(['id', 'organization_id'])
      .where('id', '>', after)
      .orderBy('id')
      .limit(WEBHOOK_BATCH_SIZE)
      .execute()
    for (const { id, organization_id } of webhooks) {
      const webhook = { organizationId: organization_id, webhookId: id }
      const days = (await eventRetentionDays(db, config.plans, webhook)) ?? DEFAULT_RETENTION_DAYS
      const before = clock.now() - days * DAY_MS
      for (const status of ['DELIVERED', 'FAILED'] as const) {
        await deleteInBatches(clock, stop, () => deleteOldRequests(db, webhook, status, before))
      }
      await enforceQueueLimits(deps, webhook, stop)
      if (stop.aborted) return
      after = id
    }
    if (webhooks.length < WEBHOOK_BATCH_SIZE) return
    await clock.sleep(PAUSE_MS, stop)
  }
}

async function deleteOldRequests(
  db: Database,
  webhook: WebhookTenant,
  status: 'DELIVERED' | 'FAILED',
  before: number,
): Promise<number> {
  const rows = await requestsOf(db, webhook)
    .where('status', '=', status)
    .where('created_at', '<', before)
    .orderBy('created_at')
    .limit(DELETE_BATCH_SIZE)
    .execute()
  return await deleteFromQueueAndLog(db, webhook, rows)
}

async function deleteFromQueueAndLog(db: Database, webhook: WebhookTenant, rows: { id: string }[]): Promise<number> {
  if (rows.length === 0) return 0
  const ids = rows.map(({ id }) => id)
  await inTransaction(db, async (transaction) => {
    await transaction
      .deleteFrom('due_requests')
      .where('webhook_id', '=', webhook.webhookId)
      .where('request_id', 'in', ids)
      .execute()
    await deleteRequests(transaction, webhook, ids)
  })
  return rows.length
}

/** Deletes requests with their attempts, and the event bodies that no other request uses. */
export async function deleteRequests(db: Database, { organizationId }: Tenant, ids: readonly string[]): Promise<void> {
  const { rows } = await sql<{ event: string | null; bytes: number }>`
    select case when event_offset is null then null else event_id end as event,
      ${REQUEST_BYTES} + ${octets(db, 'body')} + ${octets(db, 'response_body')} + coalesce((select sum(${octets(db, 'a.response_body')})
        from webhook_attempts a where a.organization_id = webhook_requests.organization_id and a.request_id = webhook_requests.id), 0) as bytes
    from webhook_requests where organization_id = ${organizationId} and ${isOneOf(db, 'id', ids)}`.execute(db)
  await db
    .deleteFrom('webhook_attempts')
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'request_id', ids))
    .execute()
  await db
    .deleteFrom('batched_events')
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'request_id', ids))
    .execute()
  await db
    .deleteFrom('webhook_requests')
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'id', ids))
    .execute()
  const events = Map.groupBy(
    rows.filter(({ event }) => event !== null),
    ({ event }) => event!,
  )
  const uses = new Map([...events].map(([id, requests]) => [id, requests.length]))
  const released = await releaseEventBodies(db, { organizationId }, uses)
  const stored = rows.map(({ bytes }) => [organizationId, -Number(bytes)] as const)
  await countStored(db, [...stored, ...released])
}

/** Drops requests that were queued for too long, then the oldest ones of a queue that is too long. */
export async function enforceQueueLimits(
  deps: Omit<RetentionDeps, 'config'> & { config: Pick<RetentionDeps['config'], 'webhookKeep'> },
  webhook: WebhookTenant,
  stop: AbortSignal,
): Promise<void> {
  const { db, clock, config } = deps
  const { waitingDays, waitingRequests } = config.webhookKeep
  if (waitingDays > 0) {
    const dueBy = clock.now() - waitingDays * DAY_MS
    while ((await dropRequests(deps, webhook, { dueBy, limit: BATCH_SIZE })) === BATCH_SIZE && !stop.aborted) {
      await clock.sleep(PAUSE_MS, stop)
    }
  }
  if (waitingRequests === 0) return
  for (let excess = await countExcess(db, webhook.webhookId, waitingRequests); excess > 0 && !stop.aborted; ) {
    const dropped = await dropRequests(deps, webhook, { limit: Math.min(BATCH_SIZE, excess) })
    excess = dropped === 0 ? 0 : excess - dropped
    await clock.sleep(PAUSE_MS, stop)
  }
}

/** How many more requests than the limit are queued, counted up to the limit. */
async function countExcess(db: Database, webhookId: string, limit: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from (
    select 1 as one from due_requests where webhook_id = ${webhookId} limit ${2 * limit}) as waiting`.execute(db)
  return Number(rows[0]!.count) - limit
}

export async function enforceStorageLimits(deps: RetentionDeps, stop: AbortSignal): Promise<void> {
  const { storedBytes } = deps.config.webhookKeep
  if (storedBytes === 0) return
  const organizations = await deps.db
    .selectFrom('webhook_storage')
    .select('organization_id')
    .where('octets', '>', storedBytes)
    .orderBy('organization_id')
    .limit(BATCH_SIZE)
    .execute()
  for (const { organization_id } of organizations) await enforceStorageLimit(deps, organization_id, stop)
}

/** Deletes the oldest finished requests of each webhook, then, if that is not enough, drops the oldest queued ones. */
async function enforceStorageLimit(deps: RetentionDeps, organizationId: string, stop: AbortSignal): Promise<void> {
  const { db, clock, config } = deps
  const isOverLimit = async () => {
    const row = await db
      .selectFrom('webhook_storage')
      .select('octets')
      .where('organization_id', '=', organizationId)
      .executeTakeFirst()
    return (row?.octets ?? 0) > config.webhookKeep.storedBytes
  }
  const dropOldest = (webhook: WebhookTenant) => dropRequests(deps, webhook, { limit: BATCH_SIZE })
  const deleteOldest = (webhook: WebhookTenant) => deleteOldestFinished(db, webhook)
  const webhooks = await db.selectFrom('webhooks').select('id').where('organization_id', '=', organizationId).execute()
  for (const remove of [deleteOldest, dropOldest]) {
    for (let removed = 1; removed > 0; ) {
      removed = 0
      for (const { id } of webhooks) {
        if (stop.aborted || !(await isOverLimit())) return
        removed += await remove({ organizationId, webhookId: id })
        await clock.sleep(PAUSE_MS, stop)
      }
    }
  }
}

async function deleteOldestFinished(db: Database, webhook: WebhookTenant): Promise<number> {
  const rows = await requestsOf(db, webhook)
    .where('status', 'in', ['DELIVERED', 'FAILED'])
    .where('next_attempt_at', 'is', null)
    .orderBy('created_at')
    .orderBy('id')
    .limit(BATCH_SIZE)
    .execute()
  const ids = rows.map(({ id }) => id)
  if (ids.length > 0) await inTransaction(db, (transaction) => deleteRequests(transaction, webhook, ids))
  return ids.length
}

/**
 * Drops the oldest queued requests that are not being attempted. The webhook counts them, and its owners get a mail for the
 * first one and whenever the count has doubled. A replayed request that was delivered before stays in the log as delivered.
 */
async function dropRequests(
  { db, clock, log }: Pick<RetentionDeps, 'db' | 'clock' | 'log'>,
  { organizationId, webhookId }: WebhookTenant,
  { dueBy = Number.MAX_SAFE_INTEGER, limit }: { dueBy?: number; limit: number },
): Promise<number> {
  const now = clock.now()
  const dropped = await inTransaction(db, async (transaction) => {
    const rows = await transaction
      .selectFrom('due_requests')
      .select('request_id')
      .where('webhook_id', '=', webhookId)
      .where('due_at', '<=', dueBy)
      .where((where) => where.or([where('claimed_by', 'is', null), where('due_at', '<=', now)]))
      .orderBy('due_at')
      .orderBy('request_id')
      .limit(limit)
      .execute()
    const ids = rows.map(({ request_id }) => request_id)
    if (ids.length === 0) return 0
    await transaction
      .deleteFrom('due_requests')
      .where('webhook_id', '=', webhookId)
      .where(isOneOf(transaction, 'request_id', ids))
      .execute()
    const replayed = await transaction
      .updateTable('webhook_requests')
      .set({ status: 'DELIVERED', next_attempt_at: null })
      .where('organization_id', '=', organizationId)
      .where(isOneOf(transaction, 'id', ids))
      .where('delivered_at', 'is not', null)
      .returning('id')
      .execute()
    const deliveredIds = new Set(replayed.map(({ id }) => id))
    const undelivered = ids.filter((id) => !deliveredIds.has(id))
    await countDropped(transaction, { organizationId, webhookId }, ids.length, now)
    await deleteRequests(transaction, { organizationId }, undelivered)
    return ids.length
  })
  if (dropped > 0) log.warn({ webhookId, dropped }, 'Queued requests were dropped: too old, too many or too large.')
  return dropped
}

async function countDropped(
  db: Database,
  { organizationId, webhookId }: WebhookTenant,
  count: number,
  now: number,
): Promise<void> {
  const webhook = await db
    .updateTable('webhooks')
    .set(({ eb }) => ({ dropped: eb('dropped', '+', count) }))
    .where('organization_id', '=', organizationId)
    .where('id', '=', webhookId)
    .returning(['url', 'dropped'])
    .executeTakeFirst()
  if (!webhook) return
  const { url, dropped } = webhook
  const before = dropped - count
  if (before > 0 && Math.floor(Math.log2(before)) === Math.floor(Math.log2(dropped))) return
  await notifyAboutWebhook(db, { organizationId, webhookId }, { kind: 'webhook_dropped', url, dropped }, now)
}
