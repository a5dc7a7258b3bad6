import { sql } from 'kysely'
import type { Logger } from 'pino'
import type { Clock } from '../clock.ts'
import { isOneOf } from '../database/bulk.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { notifyWebhookDropped } from '../mail/notifications.ts'
import { deleteRequests } from './storage.ts'

/** What is kept for webhooks at most; 0: without a limit. */
export type QueueLimits = {
  /** Requests of one webhook that wait. */
  waitingRequests: number
  /** Days that a request waits since it was due. */
  waitingDays: number
  /** Octets of all webhooks of an organization. */
  storedOctets: number
}

export type DropDeps = { db: Database; clock: Clock; log: Logger; config: { webhookKeep: QueueLimits } }

const DAY_MS = 24 * 60 * 60_000
const AT_ONCE = 200
/** After each batch, so that anyone who waits for the database comes first. */
const PAUSE_MS = 20

/** Drops what waited for too long, and the oldest of what is too much. */
export async function enforceQueueLimits(deps: DropDeps, webhookId: string, stop: AbortSignal): Promise<void> {
  const { db, clock, config } = deps
  const { waitingDays, waitingRequests } = config.webhookKeep
  const now = clock.now()
  if (waitingDays > 0) {
    const dueBy = now - waitingDays * DAY_MS
    while ((await dropRequests(deps, webhookId, { dueBy, limit: AT_ONCE })) === AT_ONCE && !stop.aborted) {
      await clock.sleep(PAUSE_MS, stop)
    }
  }
  if (waitingRequests === 0) return
  for (let left = await countBeyond(db, webhookId, waitingRequests); left > 0 && !stop.aborted; ) {
    const dropped = await dropRequests(deps, webhookId, {
      dueBy: Number.MAX_SAFE_INTEGER,
      limit: Math.min(AT_ONCE, left),
    })
    left = dropped === 0 ? 0 : left - dropped
    await clock.sleep(PAUSE_MS, stop)
  }
}

/** How many more than `most` wait. What waits is walked once. */
async function countBeyond(db: Database, webhookId: string, most: number): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from (
    select 1 as one from due_requests where webhook_id = ${webhookId} limit ${2 * most}) as waiting`.execute(db)
  return Number(rows[0]!.count) - most
}

/**
 * Brings what an organization stores for its webhooks within its limit: first the oldest of the log of each webhook goes,
 * then, where that is not enough, the oldest that wait.
 */
export async function enforceStorageLimit(deps: DropDeps, organizationId: string, stop: AbortSignal): Promise<void> {
  const { db, clock, config } = deps
  const isOver = async () => {
    const row = await db
      .selectFrom('webhook_storage')
      .select('octets')
      .where('organization_id', '=', organizationId)
      .executeTakeFirst()
    return (row?.octets ?? 0) > config.webhookKeep.storedOctets
  }
  const webhooks = await db.selectFrom('webhooks').select('id').where('organization_id', '=', organizationId).execute()
  for (const remove of [removeFromLog, dropOldest]) {
    for (let removed = 1; removed > 0; ) {
      removed = 0
      for (const { id } of webhooks) {
        if (stop.aborted || !(await isOver())) return
        removed += await remove(deps, id)
        await clock.sleep(PAUSE_MS, stop)
      }
    }
  }
}

async function removeFromLog({ db }: DropDeps, webhookId: string): Promise<number> {
  const rows = await db
    .selectFrom('webhook_requests')
    .select('id')
    .where('webhook_id', '=', webhookId)
    .where('status', 'in', ['DELIVERED', 'FAILED'])
    .where('next_attempt_at', 'is', null)
    .orderBy('created_at')
    .orderBy('id')
    .limit(AT_ONCE)
    .execute()
  const ids = rows.map(({ id }) => id)
  if (ids.length > 0) await inTransaction(db, (transaction) => deleteRequests(transaction, ids))
  return ids.length
}

const dropOldest = (deps: DropDeps, webhookId: string) =>
  dropRequests(deps, webhookId, { dueBy: Number.MAX_SAFE_INTEGER, limit: AT_ONCE })

type Which = { dueBy: number; limit: number }

/**
 * Drops the oldest that wait and are not being attempted: they are counted at the webhook, and its owner is told the first
 * time and whenever the count has doubled. One that was delivered before, and replayed, stays in the log as it was.
 */
async function dropRequests({ db, clock, log }: DropDeps, webhookId: string, { dueBy, limit }: Which): Promise<number> {
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
      .where(isOneOf(transaction, 'id', ids))
      .where('delivered_at', 'is not', null)
      .returning('id')
      .execute()
    const kept = new Set(replayed.map(({ id }) => id))
    await countDropped(transaction, webhookId, ids.length, now)
    await deleteRequests(
      transaction,
      ids.filter((id) => !kept.has(id)),
    )
    return ids.length
  })
  if (dropped > 0) log.warn({ webhookId, dropped }, 'Queued requests were dropped: too old, too many or too large.')
  return dropped
}

async function countDropped(db: Database, webhookId: string, count: number, now: number): Promise<void> {
  const webhook = await db
    .updateTable('webhooks')
    .set(({ eb }) => ({ dropped: eb('dropped', '+', count) }))
    .where('id', '=', webhookId)
    .returning(['organization_id', 'url', 'dropped'])
    .executeTakeFirst()
  if (!webhook) return
  const before = webhook.dropped - count
  if (before > 0 && Math.floor(Math.log2(before)) === Math.floor(Math.log2(webhook.dropped))) return
  await notifyWebhookDropped(
    db,
    webhook.organization_id,
    { webhookId, url: webhook.url, dropped: webhook.dropped },
    now,
  )
}
