import { sql } from 'kysely'
import type { Tenant } from '../context.ts'
import { DELETE_BATCH_SIZE } from '../database/batches.ts'
import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { insertQueued, newBatchRequest, storedBytesOf } from './new-requests.ts'
import { MAX_BATCH_BYTES } from './payload.ts'

/** A webhook with events that wait for a batch, and how it wants them; null: it wants none any more. */
export type BatchQueue = {
  webhook_id: string
  organization_id: string
  batch_max_events: number | null
  batch_max_wait_seconds: number | null
  /** When the first of the events that wait was added; null where none waits. */
  waiting_since: number | null
}

/** An event that waits. */
export type WaitingEvent = { event_id: string; added_at: number; size: number }

/** Batches that one look at the queues writes in its transaction. */
const MAX_BATCHES = 20
/** Events of one webhook that one look reads: as many as these batches can hold. */
const MAX_EVENTS = 1_000

/**
 * Puts events that wait together into requests, in the transaction that looks at their webhooks, which are locked. From then
 * on a batch is a request like any other. Returns when each webhook must be looked at again for those that go on waiting, and
 * what is stored more.
 */
export async function writeBatches(
  db: Database,
  queues: readonly BatchQueue[],
  now: number,
): Promise<{ next: ReadonlyMap<string, number>; stored: (readonly [string, number])[] }> {
  const next = new Map<string, number>()
  const stored: (readonly [string, number])[] = []
  const waiting = queues.filter(({ waiting_since }) => waiting_since !== null)
  let left = MAX_BATCHES
  for (const queue of waiting.toSorted((one, other) => one.waiting_since! - other.waiting_since!)) {
    const rows = left === 0 ? [] : await readWaiting(db, queue)
    const { batches, dueAt } = planBatches(rows, queue, now)
    const taken = batches.slice(0, left)
    for (const ids of taken) stored.push(...(await writeBatch(db, queue, ids, now)))
    const isMore = left === 0 || taken.length < batches.length || rows.length === MAX_EVENTS
    left -= taken.length
    if (isMore) next.set(queue.webhook_id, now)
    else if (dueAt !== null) next.set(queue.webhook_id, dueAt)
  }
  return { next, stored }
}

/**
 * Which of the events that wait, in their order, are sent together now, and when the others are; null where none is left. A
 * batch that is full is sent at once, and all that wait with the first whose time has come. Pure.
 */
export function planBatches(
  waiting: readonly WaitingEvent[],
  { batch_max_events, batch_max_wait_seconds }: Pick<BatchQueue, 'batch_max_events' | 'batch_max_wait_seconds'>,
  now: number,
): { batches: string[][]; dueAt: number | null } {
  const most = batch_max_events ?? Number.POSITIVE_INFINITY
  const waitMs = (batch_max_wait_seconds ?? 0) * 1_000
  const batches: string[][] = []
  let open: WaitingEvent[] = []
  let octets = 0
  for (const event of waiting) {
    const isFull = open.length === most || octets + event.size + 1 > MAX_BATCH_BYTES
    if (isFull && open.length > 0) {
      batches.push(open.map(({ event_id }) => event_id))
      open = []
      octets = 0
    }
    open.push(event)
    octets += event.size + 1
  }
  if (open.length === 0) return { batches, dueAt: null }
  const since = Math.min(...open.map(({ added_at }) => added_at))
  // One from the future was added before the clock was set back.
  const isDue = open.length === most || since + waitMs <= now || since > now
  if (!isDue) return { batches, dueAt: since + waitMs }
  return { batches: [...batches, open.map(({ event_id }) => event_id)], dueAt: null }
}

async function readWaiting(db: Database, { webhook_id }: BatchQueue): Promise<WaitingEvent[]> {
  const { rows } = await sql<WaitingEvent>`select event_id, added_at, length(octets) as size from batched_events
    where webhook_id = ${webhook_id} and request_id is null order by event_id limit ${MAX_EVENTS}`.execute(db)
  return rows.map((row) => ({ ...row, size: Number(row.size) }))
}

/** One request, whose body is made of what its events are stored with. */
async function writeBatch(db: Database, { webhook_id, organization_id }: BatchQueue, ids: string[], now: number) {
  const rows = await db
    .selectFrom('batched_events')
    .select(['event_id', 'octets'])
    .where('organization_id', '=', organization_id)
    .where('webhook_id', '=', webhook_id)
    .where(isOneOf(db, 'event_id', ids))
    .orderBy('event_id')
    .execute()
  const events = rows.map(({ octets }) => Buffer.from(octets!))
  const of = { organizationId: organization_id, webhookId: webhook_id, eventId: rows[0]!.event_id }
  const request = newBatchRequest({ ...of, events }, now)
  await insertQueued(db, { requests: [request], waiting: [] }, now)
  await db
    .updateTable('batched_events')
    .set({ request_id: request.id, octets: null })
    .where('organization_id', '=', organization_id)
    .where('webhook_id', '=', webhook_id)
    .where(isOneOf(db, 'event_id', ids))
    .execute()
  return storedBytesOf([request])
}

/** The webhooks are looked at then, or sooner. */
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

/** The ids of the requests that hold an event, or events of a monitor; undefined where no batch does. */
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

/** Of a deleted webhook: what still waits for a batch. */
export async function deleteWaitingEvents(db: Database, webhookId: string): Promise<number> {
  const some = db
    .selectFrom('batched_events')
    .select('event_id')
    .where('webhook_id', '=', webhookId)
    .where('request_id', 'is', null)
    .orderBy('event_id')
    .limit(DELETE_BATCH_SIZE)
  const { numDeletedRows } = await db
    .deleteFrom('batched_events')
    .where('webhook_id', '=', webhookId)
    .where('event_id', 'in', some)
    .executeTakeFirst()
  return Number(numDeletedRows)
}
