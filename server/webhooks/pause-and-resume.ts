import { sql } from 'kysely'
import { isOneOf } from '../database/bulk.ts'
import { type Database, forUpdate } from '../database/database.ts'
import { newId } from '../ids.ts'
import { PROBE_MS } from './transition.ts'

/**
 * Says that the webhooks have something that may have to be sent now: the dispatcher looks and finds out. Called in the
 * transaction that changed what there is. The row is written in any case: it makes the dispatcher's look and this transaction
 * wait for one another, so that neither misses what the other did.
 */
export async function wakeDispatcher(db: Database, webhookIds: readonly string[], now: number): Promise<void> {
  if (webhookIds.length === 0) return
  // Locked in one order first, so that two writers do not wait for each other.
  await sql`select webhook_id from due_webhooks where ${isOneOf(db, 'webhook_id', webhookIds)}
    order by webhook_id ${forUpdate(db)}`.execute(db)
  await sql`update due_webhooks set due_at = case when due_at < ${now} then due_at else ${now} end
    where ${isOneOf(db, 'webhook_id', webhookIds)}`.execute(db)
}

/** What was claimed before is sent by what the webhook is now, or not at all. Set it with every change of what is sent or whether. */
export const nextTargetVersion = { target_version: sql<number>`target_version + 1` }

/** Only manual attempts, and one an hour to see whether the receiver is back. */
export async function pause(db: Database, webhookId: string, now: number): Promise<void> {
  await db
    .updateTable('webhooks')
    .set({ state: 'paused', ...nextTargetVersion })
    .where('id', '=', webhookId)
    .execute()
  await db
    .updateTable('due_webhooks')
    .set({ probe_at: now + PROBE_MS, drain_after: null, drain_to: null, due_at: now })
    .where('webhook_id', '=', webhookId)
    .execute()
}

/** What was kept is sent, oldest first. */
export async function resume(db: Database, webhookId: string, now: number): Promise<void> {
  await db
    .updateTable('webhooks')
    .set({ state: 'active', ...nextTargetVersion })
    .where('id', '=', webhookId)
    .execute()
  await db
    .updateTable('due_webhooks')
    .set({ probe_at: null, drain_after: 'req_', drain_to: newId('req', now), due_at: now })
    .where('webhook_id', '=', webhookId)
    .execute()
}

/** A paused webhook is tried as soon as the dispatcher looks. */
export async function probeNow(db: Database, webhookId: string, now: number): Promise<void> {
  await db.updateTable('due_webhooks').set({ probe_at: now, due_at: now }).where('webhook_id', '=', webhookId).execute()
}
