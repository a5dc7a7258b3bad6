import { setImmediate as turn } from 'node:timers/promises'
import { sql } from 'kysely'
import { updateEach } from '../database/bulk.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { LEASE_MS } from '../database/lease-queue.ts'
import type { DueRequestsTable, WebhookRequestsTable } from '../database/schema.ts'
import { wakeDispatcher } from './pause-and-resume.ts'
import { LONGEST_WAIT_MS } from './retry-schedule.ts'
import { PROBE_MS } from './transition.ts'

const WEBHOOKS_AT_ONCE = 200
const REQUESTS_AT_ONCE = 200

/**
 * Brings back what waits for a time that only the clock had before it was set back: a retry waits as long again as it had to
 * after its attempt, a lease its minute, a probe its hour, and what was to be sent at once is due now. Walks what waits for a
 * later time, never what is due. What this process is sending is left to it.
 */
export async function repairAfterClockStep(
  db: Database,
  { now, process }: { now: number; process: number },
): Promise<void> {
  for (let after = ''; ; ) {
    const webhooks = await readWebhooks(db, after, now)
    for (const { id, waits } of webhooks) if (waits) await bringRequestsBack(db, id, { now, process })
    const planned = webhooks.filter(({ due_at }) => due_at !== null && due_at > now).map(({ id }) => id)
    await lookAgain(db, planned, now)
    if (webhooks.length < WEBHOOKS_AT_ONCE) return
    after = webhooks.at(-1)!.id
    await turn()
  }
}

/** `waits`: it has a request that is not due yet. */
async function readWebhooks(db: Database, after: string, now: number) {
  const { rows } = await sql<{ id: string; due_at: number | null; waits: number | boolean }>`
    select webhook_id as id, due_at, exists (
      select 1 from due_requests where due_requests.webhook_id = due_webhooks.webhook_id and due_requests.due_at > ${now}
    ) as waits
    from due_webhooks where webhook_id > ${after} order by webhook_id limit ${WEBHOOKS_AT_ONCE}`.execute(db)
  return rows
}

async function bringRequestsBack(db: Database, webhookId: string, { now, process }: { now: number; process: number }) {
  for (let from: { due_at: number | null; request_id: string } = { due_at: now, request_id: '' }; ; ) {
    const rows = await readWaiting(db, webhookId, from)
    const astray = rows.filter((row) => row.claimed_by !== process && row.due_at! > now + longestWaitOf(row))
    await inTransaction(db, (transaction) => writeBack(transaction, astray, now))
    if (rows.length < REQUESTS_AT_ONCE) return
    from = rows.at(-1)!
    await turn()
  }
}

type Waiting = Pick<DueRequestsTable, 'due_at' | 'claimed_by' | 'by_hand'> &
  Pick<WebhookRequestsTable, 'status' | 'last_attempt_at' | 'next_attempt_at'> & {
    webhook_id: string
    request_id: string
  }

async function readWaiting(
  db: Database,
  webhookId: string,
  from: { due_at: number | null; request_id: string },
): Promise<Waiting[]> {
  return await db
    .selectFrom('due_requests')
    .innerJoin('webhook_requests', 'webhook_requests.id', 'due_requests.request_id')
    .select(['due_requests.webhook_id', 'request_id', 'due_at', 'claimed_by', 'by_hand'])
    .select(['status', 'last_attempt_at', 'next_attempt_at'])
    .where('due_requests.webhook_id', '=', webhookId)
    .where(({ eb, refTuple, tuple }) =>
      eb(refTuple('due_at', 'request_id'), '>', tuple(from.due_at ?? 0, from.request_id)),
    )
    .orderBy('due_at')
    .orderBy('request_id')
    .limit(REQUESTS_AT_ONCE)
    .execute()
}

/** How far ahead of now it may be due at most. */
function longestWaitOf({ claimed_by, by_hand, status, due_at, last_attempt_at }: Waiting): number {
  if (claimed_by !== null) return LEASE_MS
  if (by_hand === 1 || status !== 'RETRYING' || last_attempt_at === null) return 0
  return Math.min(Math.max(due_at! - last_attempt_at, 0), LONGEST_WAIT_MS)
}

async function writeBack(db: Database, astray: readonly Waiting[], now: number): Promise<void> {
  const rows = astray.map((row) => {
    const dueAt = now + longestWaitOf(row)
    const next = row.next_attempt_at === null ? null : Math.min(row.next_attempt_at, dueAt)
    return { ...row, id: row.request_id, new_due_at: dueAt, new_claimed_by: null, new_next_attempt_at: next }
  })
  const key = { webhook_id: 'text', request_id: 'text', due_at: 'bigint' } as const
  const set = { due_at: 'bigint', claimed_by: 'bigint' } as const
  const moved = await updateEach(db, { table: 'due_requests', key, set }, rows)
  const others = { table: 'webhook_requests', key: { id: 'text' }, set: { next_attempt_at: 'bigint' } } as const
  const kept = rows.filter((_, at) => moved[at])
  await updateEach(db, others, kept)
}

/** The courier's look finds out when each is due next. */
async function lookAgain(db: Database, webhookIds: readonly string[], now: number): Promise<void> {
  if (webhookIds.length === 0) return
  await inTransaction(db, async (transaction) => {
    await wakeDispatcher(transaction, webhookIds, now)
    await transaction
      .updateTable('due_webhooks')
      .set({ probe_at: now + PROBE_MS })
      .where('webhook_id', 'in', webhookIds)
      .where('probe_at', '>', now + PROBE_MS)
      .execute()
  })
}
