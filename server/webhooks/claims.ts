import { type RawBuilder, sql } from 'kysely'
import { isOneOf } from '../database/bulk.ts'
import { type Database, engineOf, inTransaction, skipLocked } from '../database/database.ts'
import { claimRows, type Lease } from '../database/lease-queue.ts'
import type { Seal } from '../seal.ts'
import { type BatchQueue, planBatched, writeBatches } from './batches.ts'
import { type ClaimedRequest, opened, type ReadClaims, readClaimed } from './claimed.ts'
import { type EndpointQueue, modeOf } from './queue-mode.ts'
import { countStored } from './storage.ts'
import { type Occasion, PROBE_MS } from './transition.ts'

/** A request that this process holds: nobody else has it before `due_at`, and `claimed_by` says whose it is. */
export type RequestClaim = Found & Lease

export type ClaimOptions = {
  now: number
  process: number
  /** Webhooks to look at although they are not due: this process had claimed as many of their requests as it could take. */
  refill: readonly string[]
  /** How many more requests this process can take, in all and of one webhook. */
  capacity: number
  capacityOf: (webhookId: string) => number
}

export type ClaimedRound = {
  claimed: ClaimedRequest[]
  /** Webhooks of which there may be more. */
  full: string[]
  /** How many webhooks were looked at. */
  looked: number
}

export const QUEUES_PER_ROUND = 250
/** One webhook's requests that are asked for manually go beside its others, this many at a time. */
const MOST_MANUAL = 2
/** A webhook with more due than was claimed is looked at again, by whichever process has capacity. */
const RECHECK_MS = 1_000

/**
 * Looks at the webhooks that are due, longest waiting first, claims what may be sent of each, oldest first, and notes when
 * each must be looked at next. The cost grows with what is claimed, never with a backlog or the number of webhooks.
 */
export async function claimRequests(db: Database, seal: Seal, options: ClaimOptions): Promise<ClaimedRound> {
  const { now, process, refill, capacity, capacityOf } = options
  const due = await findDueWebhooks(db, now, Math.min(capacity, QUEUES_PER_ROUND))
  const ids = [...new Set([...due, ...refill])]
  // Mostly there is nothing to do, and then no transaction is begun.
  if (ids.length === 0) return { claimed: [], full: [], looked: 0 }
  const capacities = Object.fromEntries(ids.map((id) => [id, capacityOf(id)]))
  const claiming = { now, process, capacity, capacities }
  const { read, full } = await inTransaction(db, (transaction) => claimOf(transaction, claiming))
  return { claimed: opened(read, seal), full, looked: ids.length }
}

async function findDueWebhooks(db: Database, now: number, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('due_webhooks')
    .innerJoin('webhooks', 'webhooks.id', 'webhook_id')
    .select('webhook_id')
    .where('due_at', '<=', now)
    .orderBy('due_at')
    .limit(limit)
    .execute()
  return rows.map(({ webhook_id }) => webhook_id)
}

type Claiming = {
  now: number
  process: number
  capacity: number
  /** The webhooks to look at, and how many more of each this process can take. */
  capacities: Readonly<Record<string, number>>
}

/** In one transaction with what is read: what cannot be read now must not stay claimed. */
async function claimOf(db: Database, claiming: Claiming): Promise<{ read: ReadClaims; full: string[] }> {
  const queues = await lockQueues(db, Object.keys(claiming.capacities))
  const { next, stored } = await writeBatches(db, queues, claiming.now)
  const ids = queues.map(({ webhook_id }) => webhook_id)
  const asked = await findDue(db, ids, { limit: MOST_MANUAL, now: claiming.now, isManual: true })
  const { found, full } = await findInTurn(db, queues, claiming)
  const taken = new Set(asked.map(({ request_id }) => request_id))
  const others = found.filter(({ request_id }) => !taken.has(request_id))
  const claims = await claimRows(db, 'due_requests', [...asked, ...others], claiming)
  await planOpen(db, queues, claiming.now)
  await planOthers(db, queues, claiming.now)
  await planBatched(db, next)
  const read = await readClaimed(db, claims)
  await countStored(db, stored)
  return { read, full }
}

/**
 * Locked against other processes that look, and against writers of new requests, until both see what the other did. Those
 * that another process looks at now are left to it.
 */
async function lockQueues(db: Database, webhookIds: readonly string[]): Promise<(EndpointQueue & BatchQueue)[]> {
  const locked = engineOf(db) === 'postgres' ? sql`for update of due_webhooks skip locked` : sql``
  const { rows } = await sql<
    EndpointQueue & BatchQueue
  >`select due_webhooks.webhook_id, organization_id, is_active, state, probe_at, drain_after, drain_to,
      batch_max_events, batch_max_wait_seconds, (
        select added_at from batched_events where batched_events.webhook_id = due_webhooks.webhook_id and request_id is null
        order by event_id limit 1
      ) as waiting_since
    from due_webhooks join webhooks on webhooks.id = due_webhooks.webhook_id
    where ${isOneOf(db, 'due_webhooks.webhook_id', webhookIds)} ${locked}`.execute(db)
  return rows
}

/** To a power of two: queues with as much capacity are read together. */
const roundDown = (capacity: number) => (capacity < 1 ? 0 : 2 ** Math.floor(Math.log2(capacity)))

/** What the queues' own order brings, and which of them may have more. */
async function findInTurn(
  db: Database,
  queues: readonly EndpointQueue[],
  { now, capacity: inAll, capacities }: Claiming,
) {
  const share = Math.max(1, Math.floor(inAll / queues.length))
  const found: Found[] = []
  const full: string[] = []
  const open = new Map<number, string[]>()
  for (const queue of queues) {
    const { webhook_id: id } = queue
    const capacity = roundDown(Math.min(capacities[id] ?? 0, share))
    const mode = modeOf(queue, now)
    switch (mode.kind) {
      case 'shut':
        break
      case 'open':
        if (capacity > 0) open.set(capacity, [...(open.get(capacity) ?? []), id])
        break
      case 'probe':
        if (capacity <= 0) break
        found.push(...(await findOldest(db, id, now)))
        await db
          .updateTable('due_webhooks')
          .set({ probe_at: now + PROBE_MS })
          .where('webhook_id', '=', id)
          .execute()
        break
      case 'drain': {
        full.push(id)
        if (capacity <= 0) break
        const kept = await findKept(db, id, { ...mode, limit: capacity, now })
        found.push(...kept.found)
        const left = kept.after === null ? { drain_after: null, drain_to: null } : { drain_after: kept.after }
        await db.updateTable('due_webhooks').set(left).where('webhook_id', '=', id).execute()
      }
    }
  }
  for (const [capacity, ids] of open) {
    const due = await findDue(db, ids, { limit: capacity, now })
    found.push(...due)
    const counts = Map.groupBy(due, ({ webhook_id }) => webhook_id)
    full.push(...ids.filter((id) => counts.get(id)?.length === capacity))
  }
  return { found, full }
}

/** An open webhook is due with its earliest request, also with one that is claimed, because its process may die. */
async function planOpen(db: Database, queues: readonly EndpointQueue[], now: number): Promise<void> {
  const open = queues.filter((queue) => modeOf(queue, now).kind === 'open').map(({ webhook_id }) => webhook_id)
  if (open.length === 0) return
  await sql`update due_webhooks set due_at = (
      select case when min(q.due_at) <= ${now} then ${now + RECHECK_MS} else min(q.due_at) end
      from due_requests q where q.webhook_id = due_webhooks.webhook_id
    ) where ${isOneOf(db, 'due_webhooks.webhook_id', open)}`.execute(db)
}

/** The others are due with what was asked for manually, with their next probe, or soon because they are being drained. */
async function planOthers(db: Database, queues: readonly EndpointQueue[], now: number): Promise<void> {
  for (const { webhook_id: id, ...queue } of queues) {
    const { kind } = modeOf({ webhook_id: id, ...queue }, now)
    if (kind === 'open') continue
    const { rows } = await sql<{
      asked: number | null
      probe: number | null
    }>`select (select min(due_at) from due_requests where webhook_id = ${id} and by_hand = 1) as asked, probe_at as probe
      from due_webhooks where webhook_id = ${id}`.execute(db)
    const { asked = null, probe = null } = rows[0] ?? {}
    const isPaused = queue.is_active === 1 && queue.state === 'paused'
    const times = [asked, isPaused ? probe : null, kind === 'drain' ? now : null].filter((time) => time !== null)
    const due_at = times.length === 0 ? null : Math.max(Math.min(...times), now + RECHECK_MS)
    await db.updateTable('due_webhooks').set({ due_at }).where('webhook_id', '=', id).execute()
  }
}

/** A request that may be claimed, and why. */
type Found = { webhook_id: string; request_id: string; occasion: Occasion }

type Row = { webhook_id: string; request_id: string; due_at: number; claimed_by: number | null; by_hand: 0 | 1 }
const COLUMNS = sql.raw('webhook_id, request_id, due_at, claimed_by, by_hand')

// What follows is read in the order of an index and stops at its limit. Conditions beside the index's own are looked at
// here: a planner that takes them for rare would read and sort the whole backlog instead.

/** So many rows of a queue may be in progress among those that are read for more. */
const SLACK = 32

/** What is due, longest overdue first, up to `limit` of each webhook. `isManual`: only what persons asked for. */
async function findDue(
  db: Database,
  webhookIds: readonly string[],
  { limit, now, isManual = false }: { limit: number; now: number; isManual?: boolean },
): Promise<Found[]> {
  const first = (columns: RawBuilder<unknown>) => sql`select ${columns} from due_requests
    where webhook_id = queues.id and due_at <= ${now} ${sql.raw(isManual ? 'and by_hand = 1' : '')}
    order by due_at, request_id limit ${limit} ${skipLocked(db)}`
  // SQLite has no LATERAL, but reads a correlated IN through the primary key; PostgreSQL would walk the queue.
  const statement =
    engineOf(db) === 'postgres'
      ? sql<Row>`select due.* from unnest(${webhookIds}::text[]) as queues (id) cross join lateral (${first(COLUMNS)}) as due`
      : sql<Row>`select ${COLUMNS} from (select value as id from json_each(${JSON.stringify(webhookIds)})) as queues
          cross join due_requests on webhook_id = queues.id and request_id in (${first(sql`request_id`)})`
  return (await statement.execute(db)).rows.map(foundBySchedule)
}

/** What a paused webhook's receiver is tried with. */
async function findOldest(db: Database, webhookId: string, now: number): Promise<Found[]> {
  const rows = await inOrderOfIds(db, webhookId, { after: '', limit: SLACK })
  return rows
    .filter((row) => isFree(row, now))
    .slice(0, 1)
    .map((row) => ({ ...foundBySchedule(row), occasion: 'probe' }))
}

/** What was kept while a webhook was paused, due or not, up to `limit`, and after which id there may be more. */
async function findKept(
  db: Database,
  webhookId: string,
  { after, to, limit, now }: { after: string; to: string; limit: number; now: number },
): Promise<{ found: Found[]; after: string | null }> {
  const rows = await inOrderOfIds(db, webhookId, { after, limit: limit + SLACK })
  const kept = rows.filter(({ request_id }) => request_id <= to)
  const free = kept.filter((row) => isFree(row, now)).slice(0, limit)
  const isAll = free.length < limit && kept.length < limit + SLACK
  const last = free.length < limit ? kept.at(-1) : free.at(-1)
  return { found: free.map(foundBySchedule), after: isAll ? null : last!.request_id }
}

const isFree = ({ claimed_by, due_at }: Row, now: number) => claimed_by === null || due_at <= now

const foundBySchedule = ({ webhook_id, request_id, by_hand }: Row): Found => ({
  webhook_id,
  request_id,
  occasion: by_hand === 1 ? 'manual' : 'schedule',
})

async function inOrderOfIds(
  db: Database,
  webhookId: string,
  { after, limit }: { after: string; limit: number },
): Promise<Row[]> {
  const { rows } = await sql<Row>`select ${COLUMNS} from due_requests
    where webhook_id = ${webhookId} and request_id > ${after} order by request_id limit ${limit} ${skipLocked(db)}`.execute(
    db,
  )
  return rows
}
