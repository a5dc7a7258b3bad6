import { type Selectable, sql } from 'kysely'
import type { Tenant } from '../context.ts'
import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import type { DueRequestsTable } from '../database/schema-webhooks.ts'
import { updateTenantRow } from '../database/tenant-row.ts'
import { newId } from '../ids.ts'
import { LEASE_MS } from '../queue/lease-queue.ts'
import { PROBE_MS } from './transition.ts'

/** What decides which requests of a webhook may be claimed. */
export type WebhookQueue = {
  webhook_id: string
  is_active: 0 | 1
  state: 'active' | 'paused'
  /** When a paused webhook is probed next. */
  probe_at: number | null
  /** Requests queued during a pause are sent in the order of their ids: after the first of these, up to the second. */
  drain_after: string | null
  drain_to: string | null
}

/** Manual requests may be claimed in every mode. */
export type QueueMode =
  /** Due requests. */
  | { kind: 'sending' }
  /** Requests that were queued during a pause, oldest first. */
  | { kind: 'drain'; after: string; to: string }
  /** The oldest queued request, to find out whether the endpoint works again. */
  | { kind: 'probe' }
  /** Nothing. */
  | { kind: 'stopped' }

export function modeOf({ is_active, state, probe_at, drain_after, drain_to }: WebhookQueue, now: number): QueueMode {
  if (is_active === 0) return { kind: 'stopped' }
  if (state === 'paused') return { kind: (probe_at ?? now) <= now ? 'probe' : 'stopped' }
  if (drain_after !== null && drain_to !== null) return { kind: 'drain', after: drain_after, to: drain_to }
  return { kind: 'sending' }
}

/**
 * Makes requests due, except those that are being attempted. `isManual`: for one attempt, whatever the mode of the webhook. Returns the
 * ids of those that are due now. Call `makeWebhooksDue` after it.
 */
export async function makeRequestsDue(
  db: Database,
  webhookId: string,
  requestIds: readonly string[],
  { isManual, now }: { isManual: boolean; now: number },
): Promise<string[]> {
  const rows = requestIds.map((id) => {
    return { webhook_id: webhookId, request_id: id, due_at: now, is_manual: isManual ? (1 as const) : (0 as const) }
  })
  const queued = await db
    .insertInto('due_requests')
    .values(rows)
    .onConflict((conflict) =>
      conflict
        .columns(['webhook_id', 'request_id'])
        .doUpdateSet({ due_at: now, claimed_by: null, ...(isManual && { is_manual: 1 }) })
        .where((where) =>
          where.or([where('due_requests.claimed_by', 'is', null), where('due_requests.due_at', '<=', now)]),
        ),
    )
    .returning('request_id')
    .execute()
  return queued.map(({ request_id }) => request_id)
}

/**
 * Makes the webhooks due, so that the dispatcher checks them. Call it in the transaction that changes their requests. It always
 * writes the row, so that this transaction and the dispatcher wait for each other and neither misses a change.
 */
export async function makeWebhooksDue(db: Database, webhookIds: readonly string[], now: number): Promise<void> {
  if (webhookIds.length === 0) return
  // Locked in one order first, so that two writers do not deadlock.
  await sql`select webhook_id from due_webhooks where ${isOneOf(db, 'webhook_id', webhookIds)}
    order by webhook_id ${forUpdate(db)}`.execute(db)
  await sql`update due_webhooks set due_at = case when due_at < ${now} then due_at else ${now} end
    where ${isOneOf(db, 'webhook_id', webhookIds)}`.execute(db)
}

/** Set it with every change of a target: requests claimed before are sent to the new target, or not at all. */
export const nextTargetVersion = { target_version: sql<number>`target_version + 1` }

/** From now on only manual requests and an hourly probe are sent. */
export async function pause(db: Database, tenant: Tenant, webhookId: string, now: number): Promise<void> {
  await writeState(db, tenant, webhookId, 'paused')
  await db
    .updateTable('due_webhooks')
    .set({ probe_at: now + PROBE_MS, drain_after: null, drain_to: null, due_at: now })
    .where('webhook_id', '=', webhookId)
    .execute()
}

/** From now on the queued requests are sent, oldest first. */
export async function resume(db: Database, tenant: Tenant, webhookId: string, now: number): Promise<void> {
  await writeState(db, tenant, webhookId, 'active')
  await db
    .updateTable('due_webhooks')
    .set({ probe_at: null, drain_after: 'req_', drain_to: newId('req', now), due_at: now })
    .where('webhook_id', '=', webhookId)
    .execute()
}

const writeState = (db: Database, tenant: Tenant, webhookId: string, state: WebhookQueue['state']): Promise<void> =>
  updateTenantRow(db, 'webhooks', tenant, webhookId, { state, ...nextTargetVersion })

export async function probeNow(db: Database, webhookId: string, now: number): Promise<void> {
  await db.updateTable('due_webhooks').set({ probe_at: now, due_at: now }).where('webhook_id', '=', webhookId).execute()
}

/** When each request is attempted next. Requests without a next attempt are missing. */
export type NextAttempts = ReadonlyMap<string, number | null>

export async function readNextAttempts(
  db: Database,
  { organizationId }: Tenant,
  requests: readonly { id: string; webhook_id: string }[],
  now: number,
): Promise<NextAttempts> {
  if (requests.length === 0) return new Map()
  const webhookIds = [...new Set(requests.map(({ webhook_id }) => webhook_id))]
  const requestIds = requests.map(({ id }) => id)
  const queues = await db
    .selectFrom('due_webhooks')
    .innerJoin('webhooks', 'webhooks.id', 'due_webhooks.webhook_id')
    .select(['webhook_id', 'is_active', 'state', 'probe_at', 'drain_after', 'drain_to'])
    .where('organization_id', '=', organizationId)
    .where('webhook_id', 'in', webhookIds)
    .execute()
  const dueRequests = await db
    .selectFrom('due_requests')
    .selectAll()
    .where('webhook_id', 'in', webhookIds)
    .where('request_id', 'in', requestIds)
    .execute()
  const byWebhook = new Map(queues.map((queue) => [queue.webhook_id, queue]))
  return new Map(
    dueRequests.flatMap((request) => {
      const queue = byWebhook.get(request.webhook_id)
      return queue ? [[request.request_id, nextAttemptOf(request, queue, now)]] : []
    }),
  )
}

/** In the past if the attempt is in progress or waits for capacity; null if the webhook is paused or disabled. */
function nextAttemptOf(request: Selectable<DueRequestsTable>, queue: WebhookQueue, now: number): number | null {
  const { due_at, claimed_by, is_manual, request_id } = request
  if (due_at === null) return null
  if (claimed_by !== null && due_at > now) return due_at - LEASE_MS
  if (is_manual === 1) return due_at
  const mode = modeOf(queue, now)
  switch (mode.kind) {
    case 'sending':
      return due_at
    case 'drain':
      return request_id > mode.after && request_id <= mode.to ? Math.min(due_at, now) : due_at
    case 'probe':
    case 'stopped':
      return null
  }
}
