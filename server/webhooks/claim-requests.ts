import { type RawBuilder, type Selectable, sql } from 'kysely'
import { deleteEach, isOneOf, isOneOfTenants, type TenantId } from '../database/bulk.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { hasLateral, skipLocked } from '../database/dialect.ts'
import type { WebhookRequestsTable } from '../database/schema-webhooks.ts'
import type { Keyring } from '../keyring.ts'
import { claimRows, type Lease } from '../queue/lease-queue.ts'
import { type BatchQueue, scheduleBatches, writeBatches } from './batches.ts'
import { modeOf, type WebhookQueue } from './due-webhooks.ts'
import { readEventBodies, type StoredBody } from './request-body.ts'
import { countStored } from './storage-usage.ts'
import { TARGET_COLUMNS, type Target, type TargetRow, toTarget } from './targets.ts'
import { type AttemptedRequest, type AttemptTrigger, PROBE_MS } from './transition.ts'

/** A request that this process has leased until `due_at`. */
export type RequestClaim = DueRequest & Lease

/** A claimed request, with everything needed to send it and to record the result. */
export type ClaimedRequest = {
  claim: RequestClaim
  organizationId: string
  requestState: AttemptedRequest
  attempts: number
  deliveredAt: number | null
  /** As read with the claim; checked again before sending. */
  target: Target
  stored: StoredBody
}

export type ClaimOptions = {
  now: number
  process: number
  /** Webhooks to check although they are not due: this process stopped at its capacity when it last claimed for them. */
  refill: readonly TenantId[]
  /** How many more requests this process can take, in total, for one webhook and for one organization. */
  capacity: number
  capacityOf: (webhookId: string) => number
  capacityOfOrganization: (organizationId: string) => number
}

export type ClaimResult = {
  claimed: ClaimedRequest[]
  /** Webhooks that may have more due requests. */
  backlogged: TenantId[]
  /** How many webhooks were checked. */
  webhookCount: number
}

export const WEBHOOK_BATCH_SIZE = 250
/** Manual requests of one webhook at a time, in addition to the scheduled ones. */
export const MAX_MANUAL = 2
/** A webhook with more due requests than were claimed is due again after this, for any process with capacity. */
const RECHECK_MS = 1_000

/**
 * Checks the webhooks that are due, longest overdue first, claims the requests that may be sent, oldest first, and writes when
 * each webhook is due next. The cost grows with the number of claims, not with the backlog or the number of webhooks.
 */
export async function claimRequests(db: Database, keyring: Keyring, options: ClaimOptions): Promise<ClaimResult> {
  const { now, process, refill, capacity, capacityOf, capacityOfOrganization } = options
  const due = await findDueWebhooks(db, now, Math.min(capacity, WEBHOOK_BATCH_SIZE))
  const dueIds = new Set(due.map(({ id }) => id))
  const webhooks = [...due, ...refill.filter(({ id }) => !dueIds.has(id))]
  // Usually nothing is due, and no transaction is needed.
  if (webhooks.length === 0) return { claimed: [], backlogged: [], webhookCount: 0 }
  const capacities = Object.fromEntries(webhooks.map(({ id }) => [id, capacityOf(id)]))
  const input = { now, process, webhooks, capacity, capacities, capacityOfOrganization }
  const { rows, backlogged } = await inTransaction(db, (transaction) => claimInTransaction(transaction, input))
  return { claimed: decryptClaims(rows, keyring), backlogged, webhookCount: webhooks.length }
}

async function findDueWebhooks(db: Database, now: number, limit: number): Promise<TenantId[]> {
  return await db
    .selectFrom('due_webhooks')
    .innerJoin('webhooks', 'webhooks.id', 'webhook_id')
    .select(['webhook_id as id', 'organization_id as organizationId'])
    .where('due_at', '<=', now)
    .orderBy('due_at')
    .limit(limit)
    .execute()
}

type ClaimInput = {
  now: number
  process: number
  capacity: number
  webhooks: readonly TenantId[]
  /** How many more requests of each webhook this process can take. */
  capacities: Readonly<Record<string, number>>
  capacityOfOrganization: (organizationId: string) => number
}

/** What is left of the capacity of this process, and of the share of each organization, manual requests included. */
class CapacityShares {
  #left: number
  readonly #capacityOfOrganization: (organizationId: string) => number
  readonly #leftOf = new Map<string, number>()

  constructor(capacity: number, capacityOfOrganization: (organizationId: string) => number) {
    this.#left = capacity
    this.#capacityOfOrganization = capacityOfOrganization
  }

  left(): number {
    return Math.max(0, this.#left)
  }

  leftOf(organizationId: string): number {
    return this.#leftOf.get(organizationId) ?? this.#capacityOfOrganization(organizationId)
  }

  /** Returns `count`, or 0 if the organization has less left. */
  take(organizationId: string, count: number): number {
    const left = this.leftOf(organizationId)
    if (count > left) return 0
    this.#leftOf.set(organizationId, left - count)
    this.#left -= count
    return count
  }
}

/** Claims and reads in one transaction: if the read fails, nothing stays claimed. */
async function claimInTransaction(
  db: Database,
  input: ClaimInput,
): Promise<{ rows: ClaimRows; backlogged: TenantId[] }> {
  const queues = await lockQueues(db, input.webhooks)
  const { next, stored } = await writeBatches(db, queues, input.now)
  const ids = queues.map(({ webhook_id }) => webhook_id)
  const shares = new CapacityShares(input.capacity, input.capacityOfOrganization)
  const due = await findDue(db, ids, { limit: MAX_MANUAL, now: input.now, isManual: true })
  const organizations = new Map(queues.map(({ webhook_id, organization_id }) => [webhook_id, organization_id]))
  const manual = due.filter(({ webhook_id }) => shares.take(organizations.get(webhook_id)!, 1) === 1)
  const { requests, backlogged } = await findScheduled(db, queues, input, shares)
  const manualIds = new Set(manual.map(({ request_id }) => request_id))
  const scheduled = requests.filter(({ request_id }) => !manualIds.has(request_id))
  const claims = await claimRows(db, 'due_requests', [...manual, ...scheduled], input)
  await scheduleSendingQueues(db, queues, input.now)
  await scheduleOtherQueues(db, queues, input.now)
  await scheduleBatches(db, next)
  const rows = await readClaimRows(db, claims, organizations)
  await countStored(db, stored)
  return { rows, backlogged: input.webhooks.filter(({ id }) => backlogged.has(id)) }
}

/**
 * Locks the queues against other dispatchers and against transactions that add requests. Skips queues that another dispatcher
 * has locked.
 */
async function lockQueues(db: Database, webhooks: readonly TenantId[]): Promise<(WebhookQueue & BatchQueue)[]> {
  const { rows } = await sql<
    WebhookQueue & BatchQueue
  >`select due_webhooks.webhook_id, organization_id, is_active, state, probe_at, drain_after, drain_to,
      batch_max_events, batch_max_wait_seconds, (
        select added_at from batched_events where batched_events.organization_id = webhooks.organization_id
          and batched_events.webhook_id = due_webhooks.webhook_id and request_id is null order by event_id limit 1
      ) as waiting_since
    from due_webhooks join webhooks on webhooks.id = due_webhooks.webhook_id
    where ${isOneOfTenants(db, 'webhooks', webhooks)} ${skipLocked(db, 'due_webhooks')}`.execute(db)
  return rows
}

/** Queues with the same capacity are read in one statement, so capacities are rounded down to powers of two. */
const roundDownToPowerOfTwo = (capacity: number) => (capacity < 1 ? 0 : 2 ** Math.floor(Math.log2(capacity)))

/** Finds the requests that each queue may send by its mode, and the queues that may have more. */
async function findScheduled(
  db: Database,
  queues: readonly (WebhookQueue & BatchQueue)[],
  { now, capacities }: ClaimInput,
  shares: CapacityShares,
) {
  const share = Math.max(1, Math.floor(shares.left() / queues.length))
  const requests: DueRequest[] = []
  const backlogged: string[] = []
  const sending = new Map<number, string[]>()
  for (const queue of queues) {
    const { webhook_id: id, organization_id: organization } = queue
    const wanted = Math.min(capacities[id] ?? 0, share, shares.leftOf(organization))
    const capacity = shares.take(organization, roundDownToPowerOfTwo(wanted))
    const mode = modeOf(queue, now)
    switch (mode.kind) {
      case 'stopped':
        break
      case 'sending':
        if (capacity > 0) sending.set(capacity, [...(sending.get(capacity) ?? []), id])
        break
      case 'probe':
        if (capacity <= 0) break
        requests.push(...(await findProbe(db, id, now)))
        await db
          .updateTable('due_webhooks')
          .set({ probe_at: now + PROBE_MS })
          .where('webhook_id', '=', id)
          .execute()
        break
      case 'drain': {
        backlogged.push(id)
        if (capacity <= 0) break
        const drained = await findDrained(db, id, { ...mode, limit: capacity, now })
        requests.push(...drained.requests)
        const position = drained.after === null ? { drain_after: null, drain_to: null } : { drain_after: drained.after }
        await db.updateTable('due_webhooks').set(position).where('webhook_id', '=', id).execute()
      }
    }
  }
  for (const [capacity, ids] of sending) {
    const due = await findDue(db, ids, { limit: capacity, now })
    requests.push(...due)
    const counts = Map.groupBy(due, ({ webhook_id }) => webhook_id)
    backlogged.push(...ids.filter((id) => counts.get(id)?.length === capacity))
  }
  return { requests, backlogged: new Set(backlogged) }
}

/** A queue that sends is due with its earliest request, also with a claimed one, because its process may die. */
async function scheduleSendingQueues(db: Database, queues: readonly WebhookQueue[], now: number): Promise<void> {
  const sending = queues.filter((queue) => modeOf(queue, now).kind === 'sending').map(({ webhook_id }) => webhook_id)
  if (sending.length === 0) return
  await sql`update due_webhooks set due_at = (
      select case when min(q.due_at) <= ${now} then ${now + RECHECK_MS} else min(q.due_at) end
      from due_requests q where q.webhook_id = due_webhooks.webhook_id
    ) where ${isOneOf(db, 'due_webhooks.webhook_id', sending)}`.execute(db)
}

/** Other queues are due with a manual request, with the next probe, or soon while they are drained. */
async function scheduleOtherQueues(db: Database, queues: readonly WebhookQueue[], now: number): Promise<void> {
  for (const { webhook_id: id, ...queue } of queues) {
    const { kind } = modeOf({ webhook_id: id, ...queue }, now)
    if (kind === 'sending') continue
    const { rows } = await sql<{
      manual: number | null
      probe: number | null
    }>`select (select min(due_at) from due_requests where webhook_id = ${id} and is_manual = 1) as manual, probe_at as probe
      from due_webhooks where webhook_id = ${id}`.execute(db)
    const { manual = null, probe = null } = rows[0] ?? {}
    const isPaused = queue.is_active === 1 && queue.state === 'paused'
    const times = [manual, isPaused ? probe : null, kind === 'drain' ? now : null].filter((time) => time !== null)
    const due_at = times.length === 0 ? null : Math.max(Math.min(...times), now + RECHECK_MS)
    await db.updateTable('due_webhooks').set({ due_at }).where('webhook_id', '=', id).execute()
  }
}

/** A request that may be claimed, and what triggers its attempt. */
type DueRequest = { webhook_id: string; request_id: string; trigger: AttemptTrigger }

type QueueRow = { webhook_id: string; request_id: string; due_at: number; claimed_by: number | null; is_manual: 0 | 1 }
const QUEUE_COLUMNS = sql.raw('webhook_id, request_id, due_at, claimed_by, is_manual')

// The queries below read an index in order and stop at the limit. Further conditions are checked in code: with them in SQL,
// a planner that considers them selective would read and sort the whole backlog.

/** Rows read beyond the limit, because some of them may be claimed. */
const READ_AHEAD = 32

/** Due requests, longest overdue first, up to `limit` of each webhook. `isManual`: only manual ones. */
async function findDue(
  db: Database,
  webhookIds: readonly string[],
  { limit, now, isManual = false }: { limit: number; now: number; isManual?: boolean },
): Promise<DueRequest[]> {
  const first = (columns: RawBuilder<unknown>) => sql`select ${columns} from due_requests
    where webhook_id = queues.id and due_at <= ${now} ${sql.raw(isManual ? 'and is_manual = 1' : '')}
    order by due_at, request_id limit ${limit} ${skipLocked(db)}`
  // SQLite has no LATERAL, but reads a correlated IN through the primary key; PostgreSQL would scan the queue.
  const statement = hasLateral(db)
    ? sql<QueueRow>`select due.* from unnest(${webhookIds}::text[]) as queues (id) cross join lateral (${first(QUEUE_COLUMNS)}) as due`
    : sql<QueueRow>`select ${QUEUE_COLUMNS} from (select value as id from json_each(${JSON.stringify(webhookIds)})) as queues
          cross join due_requests on webhook_id = queues.id and request_id in (${first(sql`request_id`)})`
  return (await statement.execute(db)).rows.map(toDueRequest)
}

/** The request that probes a paused webhook: its oldest. */
async function findProbe(db: Database, webhookId: string, now: number): Promise<DueRequest[]> {
  const rows = await readByRequestId(db, webhookId, { after: '', limit: READ_AHEAD })
  return rows
    .filter((row) => isUnclaimed(row, now))
    .slice(0, 1)
    .map((row) => ({ ...toDueRequest(row), trigger: 'probe' }))
}

/** Requests queued while the webhook was paused, due or not, up to `limit`. `after`: the id after which there may be more. */
async function findDrained(
  db: Database,
  webhookId: string,
  { after, to, limit, now }: { after: string; to: string; limit: number; now: number },
): Promise<{ requests: DueRequest[]; after: string | null }> {
  const rows = await readByRequestId(db, webhookId, { after, limit: limit + READ_AHEAD })
  const queued = rows.filter(({ request_id }) => request_id <= to)
  const free = queued.filter((row) => isUnclaimed(row, now)).slice(0, limit)
  const isAll = free.length < limit && queued.length < limit + READ_AHEAD
  const last = free.length < limit ? queued.at(-1) : free.at(-1)
  return { requests: free.map(toDueRequest), after: isAll ? null : last!.request_id }
}

const isUnclaimed = ({ claimed_by, due_at }: QueueRow, now: number) => claimed_by === null || due_at <= now

const toDueRequest = ({ webhook_id, request_id, is_manual }: QueueRow): DueRequest => ({
  webhook_id,
  request_id,
  trigger: is_manual === 1 ? 'manual' : 'schedule',
})

async function readByRequestId(
  db: Database,
  webhookId: string,
  { after, limit }: { after: string; limit: number },
): Promise<QueueRow[]> {
  const { rows } = await sql<QueueRow>`select ${QUEUE_COLUMNS} from due_requests
    where webhook_id = ${webhookId} and request_id > ${after} order by request_id limit ${limit} ${skipLocked(db)}`.execute(
    db,
  )
  return rows
}

const REQUEST_COLUMNS = [
  'id',
  'organization_id',
  'event_id',
  'event_offset',
  'body',
  'status',
  'attempts',
  'retries',
  'delivered_at',
  'next_attempt_at',
] as const
type RequestRow = Pick<Selectable<WebhookRequestsTable>, (typeof REQUEST_COLUMNS)[number]>

/** The database rows of claimed requests, with their event bodies and webhooks. */
type ClaimRows = {
  requests: { claim: RequestClaim; row: RequestRow }[]
  events: { event_id: string; octets: Uint8Array }[]
  targets: TargetRow[]
}

/** Requests that were deleted, or whose webhook was deleted, leave the queue. */
async function readClaimRows(
  db: Database,
  claims: readonly RequestClaim[],
  organizations: ReadonlyMap<string, string>,
): Promise<ClaimRows> {
  if (claims.length === 0) return { requests: [], events: [], targets: [] }
  const ofOrganization = (webhookId: string, id: string) => ({ organizationId: organizations.get(webhookId)!, id })
  const webhooks = claims.map(({ webhook_id }) => ofOrganization(webhook_id, webhook_id))
  const targets = await db
    .selectFrom('webhooks')
    .select(TARGET_COLUMNS)
    .where(isOneOfTenants(db, 'webhooks', webhooks))
    .execute()
  const requestIds = claims.map(({ webhook_id, request_id }) => ofOrganization(webhook_id, request_id))
  const rows = await db
    .selectFrom('webhook_requests')
    .select(REQUEST_COLUMNS)
    .where(isOneOfTenants(db, 'webhook_requests', requestIds))
    .execute()
  const byId = new Map(rows.map((row) => [row.id, row]))
  const webhookIdsFound = new Set(targets.map(({ id }) => id))
  const deletedClaims: RequestClaim[] = []
  const requests = claims.flatMap((claim) => {
    const row = byId.get(claim.request_id)
    if (row && webhookIdsFound.has(claim.webhook_id)) return [{ claim, row }]
    deletedClaims.push(claim)
    return []
  })
  await deleteEach(db, { table: 'due_requests', key: { webhook_id: 'text', request_id: 'text' } }, deletedClaims)
  const events = requests.flatMap(({ row }) =>
    row.event_offset === null ? [] : [{ organizationId: row.organization_id, id: row.event_id! }],
  )
  return { requests, events: await readEventBodies(db, events), targets }
}

/** Decrypts the secrets, so that the requests can be sent. */
function decryptClaims({ requests, events, targets }: ClaimRows, keyring: Keyring): ClaimedRequest[] {
  const byId = new Map(targets.map((row) => [row.id, toTarget(row, keyring)]))
  // Copies: a hanging request must not keep the whole result set, with all other bodies, in memory.
  const byEvent = new Map(events.map(({ event_id, octets }) => [event_id, Buffer.from(octets)]))
  return requests.map(({ claim, row }) => {
    const { id, status, retries, attempts, body, event_offset: eventOffset } = row
    const event = eventOffset === null ? undefined : byEvent.get(row.event_id!)
    return {
      claim,
      organizationId: row.organization_id,
      requestState: { requestId: id, isTest: isTestId(id), status, retries, nextAttemptAt: row.next_attempt_at },
      attempts,
      deliveredAt: row.delivered_at,
      target: byId.get(claim.webhook_id)!,
      stored: { body: Buffer.from(body), eventOffset, event },
    }
  })
}

/** The ids of test requests carry `test`, so that receivers recognize them, too. */
const isTestId = (requestId: string): boolean => requestId.startsWith('req_test_')
