import { sql } from 'kysely'
import type { Tenant } from '../context.ts'
import { deleteBatch } from '../database/batches.ts'
import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { insertQueued, newBatchRequest, storedBytesOf } from './new-requests.ts'
import { MAX_BATCH_BYTES } from './payload.ts'

/** A webhook with waiting events, and its batch settings; null if `batch` was turned off meanwhile. */
export type BatchQueue = {
  webhook_id: string
  organization_id: string
  batch_max_events: number | null
  batch_max_wait_seconds: number | null
  /** When the first waiting event was added; null without one. */
  waiting_since: number | null
}

export type WaitingEvent = { event_id: string; added_at: number; size: number }

/** Batches written in one transaction. */
const MAX_BATCHES = 20
/** Events of one webhook that are read in one transaction. */
const MAX_EVENTS = 1_000

/**
 * Writes requests for waiting events, in the transaction that has locked their webhooks. From then on a batch is a request
 * like any other. Returns when each webhook is due for the events that still wait, and how many bytes were stored.
 */
export async function writeBatches(
  db: Database,
  queues: readonly BatchQueue[],
  now: number,
): Promise<{ next: ReadonlyMap<string, number>; stored: (readonly [string, number])[] }> {
  const next = new Map<string, number>()
  const stored: (readonly [string, number])[] = []
  const waiting = queues.filter(({ waiting_since }) => waiting_since !== null)
  let capacity = MAX_BATCHES
  for (const queue of waiting.toSorted((a, b) => a.waiting_since! - b.waiting_since!)) {
    const rows = capacity === 0 ? [] : await readWaiting(db, queue)
    const { batches, dueAt } = planBatches(rows, queue, now)
    const written = batches.slice(0, capacity)
    for (const ids of written) stored.push(...(await writeBatch(db, queue, ids, now)))
    const hasMore = capacity === 0 || written.length < batches.length || rows.length === MAX_EVENTS
    capacity -= written.length
    if (hasMore) next.set(queue.webhook_id, now)
    else if (dueAt !== null) next.set(queue.webhook_id, dueAt)
  }
  return { next, stored }
}

/**
 * Groups waiting events into the batches to send now. `dueAt` is when the remaining events are due; null without any. A full
 * batch is sent at once, any other when its first event has waited long enough. Pure.
 */
export function planBatches(
  waiting: readonly WaitingEvent[],
  { batch_max_events, batch_max_wait_seconds }: Pick<BatchQueue, 'batch_max_events' | 'batch_max_wait_seconds'>,
  now: number,
): { batches: string[][]; dueAt: number | null } {
  const maxEvents = batch_max_events ?? Number.POSITIVE_INFINITY
  const waitMs = (batch_max_wait_seconds ?? 0) * 1_000
  const batches: string[][] = []
  let open: WaitingEvent[] = []
  let bytes = 0
  for (const event of waiting) {
    const isFull = open.length === maxEvents || bytes + event.size + 1 > MAX_BATCH_BYTES
    if (isFull && open.length > 0) {
      batches.push(open.map(({ event_id }) => event_id))
      open = []
      bytes = 0
    }
    open.push(event)
    bytes += event.size + 1
  }
  if (open.length === 0) return { batches, dueAt: null }
  const since = Math.min(...open.map(({ added_at }) => added_at))
  // An event from the future was added before the clock was set back.
  const isDue = open.length === maxEvents || since + waitMs <= now || since > now
  if (!isDue) return { batches, dueAt: since + waitMs }
  return { batches: [...batches, open.map(({ event_id }) => event_id)], dueAt: null }
}

async function readWaiting(db: Database, { webhook_id, organization_id }: BatchQueue): Promise<WaitingEvent[]> {
  const { rows } = await sql<WaitingEvent>`select event_id, added_at, length(octets) as size from batched_events
    where organization_id = ${organization_id} and webhook_id = ${webhook_id} and request_id is null order by event_id limit ${MAX_EVENTS}`.execute(
    db,
  )
  return rows.map((row) => ({ ...row, size: Number(row.size) }))
}

/** Writes one request with the stored bytes of its events. */
async function writeBatch(db: Database, { webhook_id, organization_id }: BatchQueue, eventIds: string[], now: number) {
  const rows = await db
    .selectFrom('batched_events')
    .select(['event_id', 'octets'])
    .where('organization_id', '=', organization_id)
    .where('webhook_id', '=', webhook_id)
    .where(isOneOf(db, 'event_id', eventIds))
    .orderBy('event_id')
    .execute()
  const events = rows.map(({ octets }) => Buffer.from(octets!))
  const ids = { organizationId: organization_id, webhookId: webhook_id, eventId: rows[0]!.event_id }
  const request = newBatchRequest({ ...ids, events }, now)
  await insertQueued(db, { requests: [request], batchedEvents: [] }, now)
  await db
    .updateTable('batched_events')
    .set({ request_id: request.id, octets: null })
    .where('organization_id', '=', organization_id)
    .where('webhook_id', '=', webhook_id)
    .where(isOneOf(db, 'event_id', eventIds))
    .execute()
  return storedBytesOf([request])
}

/** Makes the webhooks due at these times, unless they are due earlier. */
export async function scheduleBatches(db: Database, next: ReadonlyMap<string, number>): Promise<void> {
  for (const [id, dueAt] of next) {
    await db
      .updateTable('due_webhooks')
      .set({ due_at: dueAt })
      .where('webhook_id', '=', id)
      .where((where) => where.or([where('due_at', 'is', null), where('due_at', '>', dueAt)]))
      .execute()
  }
}

/** A query for the ids of the requests with an event, or with events of a monitor; undefined if no batch has one. */
export async function batchRequestIds(
  db: Database,
  { organizationId, webhookId }: Tenant & { webhookId: string },
  column: 'event_id' | 'monitor_id',
  value: string,
) {
  const rows = db
    .selectFrom('batched_events')
    .where('organization_id', '=', organizationId)
    .where('webhook_id', '=', webhookId)
    .where(column, '=', value)
    .where('request_id', 'is not', null)
  const found = await rows.select('request_id').limit(1).executeTakeFirst()
  if (!found) return undefined
  const others = db
    .selectFrom('webhook_requests')
    .where('organization_id', '=', organizationId)
    .where('webhook_id', '=', webhookId)
    .where(column, '=', value)
  return others.select('id').union(rows.select('request_id as id').$narrowType<{ id: string }>())
}

/** Deletes some of the events that wait for a batch of a deleted webhook. Returns how many. */
export async function deleteWaitingEvents(
  db: Database,
  { organizationId, webhookId }: Tenant & { webhookId: string },
): Promise<number> {
  const some = db
    .selectFrom('batched_events')
    .where('organization_id', '=', organizationId)
    .where('webhook_id', '=', webhookId)
    .where('request_id', 'is', null)
    .orderBy('event_id')
  return await deleteBatch(db, 'batched_events', ['organization_id', 'webhook_id', 'event_id'], some)
}
