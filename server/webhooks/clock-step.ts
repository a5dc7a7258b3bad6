import { sql } from 'kysely'
import type { Tenant } from '../context.ts'
import { isOneOf } from '../database/bulk.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { leastAndGreatest } from '../database/dialect.ts'
import { LEASE_MS, repairAfterClockStep, type Waits } from '../queue/lease-queue.ts'
import { MAX_DELAY_MS } from '../retry-schedule.ts'
import { yieldToEventLoop } from '../yield.ts'
import { makeWebhooksDue } from './due-webhooks.ts'
import { PROBE_MS } from './transition.ts'

const WEBHOOK_BATCH_SIZE = 200

/**
 * After the clock was set back: a retry waits its delay again, a probe its hour, and everything else is due now. Goes webhook by
 * webhook, so that a due backlog is not read.
 */
export async function repairRequests(db: Database, self: { now: number; process: number }): Promise<void> {
  for (let after = ''; ; await yieldToEventLoop()) {
    const webhooks = await readWebhooks(db, after, self.now)
    for (const { id, organization_id, waits } of webhooks) {
      const webhook = { organizationId: organization_id, webhookId: id }
      if (waits) await repairAfterClockStep(db, 'due_requests', self, waitsOf(db, webhook))
    }
    const planned = webhooks
      .filter(({ due_at, is_batched }) => is_batched || (due_at !== null && due_at > self.now))
      .map(({ id }) => id)
    await makeDue(db, planned, self.now)
    if (webhooks.length < WEBHOOK_BATCH_SIZE) return
    after = webhooks.at(-1)!.id
  }
}

/** `waits`: it has a request that is not due yet. `is_batched`: it has events that a process of the version before does not see. */
async function readWebhooks(db: Database, after: string, now: number) {
  const { rows } = await sql<{
    id: string
    organization_id: string
    due_at: number | null
    waits: number | boolean
    is_batched: number | boolean
  }>`
    select webhook_id as id, webhooks.organization_id, due_at, exists (
      select 1 from due_requests where due_requests.webhook_id = due_webhooks.webhook_id and due_requests.due_at > ${now}
    ) as waits, exists (
      select 1 from batched_events where batched_events.organization_id = webhooks.organization_id
        and batched_events.webhook_id = due_webhooks.webhook_id and request_id is null
    ) as is_batched
    from due_webhooks join webhooks on webhooks.id = due_webhooks.webhook_id
    where webhook_id > ${after} order by webhook_id limit ${WEBHOOK_BATCH_SIZE}`.execute(db)
  return rows
}

function waitsOf(db: Database, { organizationId, webhookId }: Tenant & { webhookId: string }): Waits {
  const [min, max] = leastAndGreatest(db)
  return {
    join: sql`join webhook_requests on webhook_requests.organization_id = ${organizationId}
      and webhook_requests.id = due_requests.request_id`,
    where: sql`due_requests.webhook_id = ${webhookId}`,
    longestMs: sql`case when claimed_by is not null then ${sql.lit(LEASE_MS)}
      when is_manual = 1 or status <> 'RETRYING' or last_attempt_at is null then 0
      else ${min}(${max}(due_at - last_attempt_at, 0), ${sql.lit(MAX_DELAY_MS)}) end`,
    moved: async (transaction, rows) => {
      const ids = rows.map(({ request_id }) => request_id as string)
      await sql`update webhook_requests set next_attempt_at = ${min}(next_attempt_at, queue.due_at)
        from due_requests as queue where queue.webhook_id = ${webhookId} and queue.request_id = webhook_requests.id
          and webhook_requests.organization_id = ${organizationId} and ${isOneOf(transaction, 'webhook_requests.id', ids)} and next_attempt_at is not null`.execute(
        transaction,
      )
    },
  }
}

/** The dispatcher then sets when each webhook is due next. */
async function makeDue(db: Database, webhookIds: readonly string[], now: number): Promise<void> {
  if (webhookIds.length === 0) return
  await inTransaction(db, async (transaction) => {
    await makeWebhooksDue(transaction, webhookIds, now)
    await transaction
      .updateTable('due_webhooks')
      .set({ probe_at: now + PROBE_MS })
      .where('webhook_id', 'in', webhookIds)
      .where('probe_at', '>', now + PROBE_MS)
      .execute()
  })
}
