import { DELETE_BATCH_SIZE, deleteInBatches } from '../database/batches.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { runEvery } from '../database/worker-loop.ts'
import { eventRetentionDays } from '../organization/quota.ts'
import type { Plans } from '../plan.ts'
import { deleteWaitingEvents } from './batches.ts'
import { type DropDeps, enforceQueueLimits, enforceStorageLimit } from './queue-limits.ts'
import { deleteRequests } from './storage.ts'

export type RetentionDeps = DropDeps & { config: { plans: Plans } }

const DAY_MS = 24 * 60 * 60_000
/** Where neither the organization nor its plan says for how long. */
export const DEFAULT_RETENTION_DAYS = 90

const AT_ONCE = 200
const WEBHOOKS_AT_ONCE = 100
/** After each batch, so that anyone who waits for the database comes first. */
const PAUSE_MS = 20
const REMOVED_EVERY_MS = 10_000
const OLD_EVERY_MS = 60 * 60_000
/** A check that was in progress when a webhook was deleted may still write requests for it. */
const LATE_MS = 5 * 60_000

/** Deletes what is not needed any more, a little at a time. Runs until `stop`. */
export async function runWebhookRetention(deps: RetentionDeps, stop: AbortSignal): Promise<void> {
  const { clock } = deps
  let nextOldAt = clock.elapsed()
  await runEvery(REMOVED_EVERY_MS, deps, stop, {
    failure: 'Old webhook requests could not be deleted. Retrying.',
    work: async () => {
      await deleteRequestsOfDeletedWebhooks(deps, stop)
      await dropExcessRequests(deps, stop)
      if (clock.elapsed() < nextOldAt) return
      await deleteExpired(deps, stop)
      nextOldAt = clock.elapsed() + OLD_EVERY_MS
    },
  })
}

/** The requests of deleted webhooks. */
export async function deleteRequestsOfDeletedWebhooks({ db, clock }: RetentionDeps, stop: AbortSignal): Promise<void> {
  const removed = await db
    .selectFrom('removed_webhooks')
    .selectAll()
    .orderBy('webhook_id')
    .limit(WEBHOOKS_AT_ONCE)
    .execute()
  for (const { webhook_id, removed_at } of removed) {
    await deleteInBatches(clock, stop, () => removeRequests(db, someOf(db, webhook_id)))
    if (stop.aborted) return
    await deleteInBatches(clock, stop, () => deleteWaitingEvents(db, webhook_id))
    if (stop.aborted) return
    if (clock.now() < removed_at + LATE_MS) continue
    await db.deleteFrom('due_requests').where('webhook_id', '=', webhook_id).execute()
    await db.deleteFrom('removed_webhooks').where('webhook_id', '=', webhook_id).execute()
  }
}

/** What organizations store beyond their limit. */
export async function dropExcessRequests(deps: RetentionDeps, stop: AbortSignal): Promise<void> {
  const { storedOctets } = deps.config.webhookKeep
  if (storedOctets === 0) return
  const over = await deps.db
    .selectFrom('webhook_storage')
    .select('organization_id')
    .where('octets', '>', storedOctets)
    .orderBy('organization_id')
    .limit(AT_ONCE)
    .execute()
  for (const { organization_id } of over) await enforceStorageLimit(deps, organization_id, stop)
}

/** Requests that are done with and older than their organization keeps them. What waits is kept within limits of its own. */
export async function deleteExpired(deps: RetentionDeps, stop: AbortSignal): Promise<void> {
  const { db, clock, config } = deps
  let after = ''
  for (;;) {
    const webhooks = await db
      .selectFrom('webhooks')
      .select(['id', 'organization_id'])
      .where('id', '>', after)
      .orderBy('id')
      .limit(WEBHOOKS_AT_ONCE)
      .execute()
    for (const { id, organization_id } of webhooks) {
      const days =
        (await eventRetentionDays(db, config.plans, { organizationId: organization_id })) ?? DEFAULT_RETENTION_DAYS
      const before = clock.now() - days * DAY_MS
      for (const status of ['DELIVERED', 'FAILED'] as const) {
        await deleteInBatches(clock, stop, () => removeRequests(db, someOld(db, id, status, before)))
      }
      await enforceQueueLimits(deps, id, stop)
      if (stop.aborted) return
      after = id
    }
    if (webhooks.length < WEBHOOKS_AT_ONCE) return
    await clock.sleep(PAUSE_MS, stop)
  }
}

type Rows = Promise<{ id: string; webhook_id: string }[]>

async function removeRequests(db: Database, some: Rows): Promise<number> {
  const rows = await some
  if (rows.length === 0) return 0
  const ids = rows.map(({ id }) => id)
  await inTransaction(db, async (transaction) => {
    await transaction
      .deleteFrom('due_requests')
      .where('webhook_id', '=', rows[0]!.webhook_id)
      .where('request_id', 'in', ids)
      .execute()
    await deleteRequests(transaction, ids)
  })
  return rows.length
}

function someOf(db: Database, webhookId: string) {
  const rows = db.selectFrom('webhook_requests').select(['id', 'webhook_id']).where('webhook_id', '=', webhookId)
  return rows.limit(DELETE_BATCH_SIZE).execute()
}

function someOld(db: Database, webhookId: string, status: 'DELIVERED' | 'FAILED', before: number) {
  return db
    .selectFrom('webhook_requests')
    .select(['id', 'webhook_id'])
    .where('webhook_id', '=', webhookId)
    .where('status', '=', status)
    .where('created_at', '<', before)
    .orderBy('created_at')
    .limit(DELETE_BATCH_SIZE)
    .execute()
}
