import { sql } from 'kysely'
import { isOneOf, updateEach } from '../database/bulk.ts'
import { type Database, engineOf, inTransaction } from '../database/database.ts'
import { complete, reschedule } from '../database/lease-queue.ts'
import { notifyWebhookActive, notifyWebhookPaused } from '../mail/notifications.ts'
import type { AttemptResult } from './attempt.ts'
import type { ClaimedRequest } from './claimed.ts'
import type { RequestClaim } from './claims.ts'
import { pause, resume, wakeDispatcher } from './pause-and-resume.ts'
import { countStored } from './storage.ts'
import { afterAttempt, type Transition } from './transition.ts'

/** A claimed request and what its attempt came to; without a result it was not attempted and is given back. */
export type Recorded = { claimed: ClaimedRequest; result: AttemptResult | null }

/** What is written of an attempt. */
type Attempted = {
  claim: RequestClaim
  organizationId: string
  /** Attempts before this one. */
  attempts: number
  result: AttemptResult
  transition: Transition
  deliveredAt: number | null
}

/** A webhook whose state changed, for the log. */
export type StateChange = { webhookId: string; state: 'active' | 'paused'; error: string | null }

/**
 * Records attempts in one transaction: request, attempt and webhook. Anyone who lost its lease meanwhile records nothing.
 * Returns the webhooks whose state changed by it.
 */
export async function recordAttempts(db: Database, items: readonly Recorded[], now: number): Promise<StateChange[]> {
  const unsent = items.filter(({ result }) => result === null).map(({ claimed }) => newUnsent(claimed, now))
  const attempted = items.flatMap((item) => newAttempted(item, now))
  return await inTransaction(db, (transaction) => record(transaction, { unsent, attempted, now }))
}

/** Whether the attempt pauses its webhook, which is so for everybody once it is recorded. */
export function pausesWebhook({ claim, standing }: ClaimedRequest, result: AttemptResult, now: number): boolean {
  return afterAttempt(standing, claim.occasion, result, now).webhook === 'pause'
}

/** It waits for its time again: a person's own request is due at once, the others by their schedule. */
function newUnsent({ claim, standing }: ClaimedRequest, now: number): Unsent {
  return { claim, dueAt: claim.occasion === 'manual' ? now : Math.max(now, standing.nextAttemptAt ?? now) }
}

function newAttempted({ claimed, result }: Recorded, now: number): Attempted[] {
  if (result === null) return []
  const { claim, organizationId, attempts, standing } = claimed
  const transition = afterAttempt(standing, claim.occasion, result, now)
  const deliveredAt = result.delivered ? now : claimed.deliveredAt
  return [{ claim, organizationId, attempts, result, transition, deliveredAt }]
}

type Unsent = { claim: RequestClaim; dueAt: number }
type Recording = { unsent: Unsent[]; attempted: Attempted[]; now: number }

async function record(db: Database, { unsent, attempted, now }: Recording): Promise<StateChange[]> {
  const claims = [...unsent, ...attempted].map(({ claim }) => claim)
  const paused = await lockWebhooks(db, [...new Set(claims.map(({ webhook_id }) => webhook_id))])
  await release(db, unsent, now)
  const kept = await writeQueue(db, attempted)
  await writeRequests(db, kept)
  const changes = await writeWebhooks(db, kept, paused, now)
  const answers = kept.map(
    ({ organizationId, result }) => [organizationId, Buffer.byteLength(result.excerpt ?? '')] as const,
  )
  await countStored(db, answers)
  return changes
}

/**
 * In one order, before anything else, so that two processes that record for the same webhooks do not wait for each other.
 * Returns those that are paused.
 */
async function lockWebhooks(db: Database, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const locked = engineOf(db) === 'postgres' ? sql`for no key update` : sql``
  const rows = await db
    .selectFrom('webhooks')
    .select(['id', 'state'])
    .where(isOneOf(db, 'id', ids))
    .orderBy('id')
    .modifyEnd(locked)
    .execute()
  return new Set(rows.filter(({ state }) => state === 'paused').map(({ id }) => id))
}

async function release(db: Database, unsent: readonly Unsent[], now: number): Promise<void> {
  await reschedule(
    db,
    'due_requests',
    unsent.map(({ claim, dueAt }) => ({ claim, set: { due_at: dueAt } })),
  )
  // Its webhook was planned by the end of the lease.
  await wakeDispatcher(db, [...new Set(unsent.map(({ claim }) => claim.webhook_id))], now)
}

/** What is done with leaves the queue, the rest waits in it. Returns those whose claim was still their process's own. */
async function writeQueue(db: Database, items: readonly Attempted[]): Promise<Attempted[]> {
  const done: RequestClaim[] = []
  const waiting: { claim: RequestClaim; set: { due_at: number; by_hand: 0 } }[] = []
  for (const { claim, transition } of items) {
    if (transition.nextAttemptAt === null) done.push(claim)
    else waiting.push({ claim, set: { due_at: transition.nextAttemptAt, by_hand: 0 } })
  }
  const completed = await complete(db, 'due_requests', done)
  const held = new Set([...completed, ...(await reschedule(db, 'due_requests', waiting))])
  return items.filter(({ claim }) => held.has(claim))
}

async function writeRequests(db: Database, items: readonly Attempted[]): Promise<void> {
  const rows = items.map(({ claim, attempts, result, transition, deliveredAt }) => ({
    id: claim.request_id,
    new_status: transition.status,
    new_attempts: attempts + 1,
    new_retries: transition.retries,
    new_delivered_at: deliveredAt,
    new_status_code: result.statusCode,
    new_error: result.error,
    new_response_body: result.excerpt,
    new_last_attempt_at: result.at,
    new_timings: JSON.stringify(result.timings),
    new_next_attempt_at: transition.nextAttemptAt,
  }))
  await keepEarlier(
    db,
    items.filter(({ attempts }) => attempts > 0).map(({ claim }) => claim.request_id),
  )
  await updateEach(db, { table: 'webhook_requests', key: { id: 'text' }, set: REQUEST }, rows)
}

/** The attempt that stands in the request makes capacity for the next. */
async function keepEarlier(db: Database, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  const columns = sql.raw('status_code, error, response_body, timings')
  await sql`insert into webhook_attempts (organization_id, request_id, number, attempted_at, ${columns})
    select organization_id, id, attempts, last_attempt_at, ${columns} from webhook_requests where ${isOneOf(db, 'id', ids)}`.execute(
    db,
  )
}

const REQUEST = {
  status: 'text',
  attempts: 'bigint',
  retries: 'bigint',
  delivered_at: 'bigint',
  status_code: 'bigint',
  error: 'text',
  response_body: 'text',
  last_attempt_at: 'bigint',
  timings: 'text',
  next_attempt_at: 'bigint',
} as const

async function writeWebhooks(
  db: Database,
  items: readonly Attempted[],
  paused: ReadonlySet<string>,
  now: number,
): Promise<StateChange[]> {
  const byWebhook = Map.groupBy(items, ({ claim }) => claim.webhook_id)
  const ends = [...byWebhook].map(([id, attempts]) => endOf(id, attempts))
  await updateEach(
    db,
    { table: 'webhooks', key: { id: 'text' }, set: { last_error: 'text', last_executed_at: 'bigint' } },
    ends.map(({ id, last: { result } }) => ({ id, new_last_error: result.error, new_last_executed_at: result.at })),
  )
  const changes: StateChange[] = []
  for (const { id, last, pausing } of ends.toSorted((one, other) => (one.id < other.id ? -1 : 1))) {
    const change = changeOf(id, last.result, pausing?.result, paused.has(id))
    if (!change) continue
    if (change.state === 'active') await resume(db, id, now)
    else await pause(db, id, now)
    await tellOwner(db, change, pausing?.result.statusCode ?? null, now)
    changes.push(change)
  }
  return changes
}

/**
 * What several attempts that are recorded together, in the order of their answers, say of their webhook. One success shows
 * that the receiver is there, unless it answered 410 after it.
 */
function endOf(id: string, attempts: readonly Attempted[]) {
  const delivered = attempts.findLastIndex(({ result }) => result.delivered)
  const gone = attempts.findLastIndex(({ result }) => result.gone)
  const last = attempts[gone > delivered ? gone : delivered] ?? attempts.at(-1)!
  return { id, last, pausing: attempts.find(({ transition }) => transition.webhook === 'pause') }
}

function changeOf(
  webhookId: string,
  last: AttemptResult,
  pausing: AttemptResult | undefined,
  isPaused: boolean,
): StateChange | undefined {
  if (last.delivered) return isPaused ? { webhookId, state: 'active', error: null } : undefined
  return pausing && !isPaused ? { webhookId, state: 'paused', error: pausing.error } : undefined
}

async function tellOwner(
  db: Database,
  { webhookId, state, error }: StateChange,
  statusCode: number | null,
  now: number,
): Promise<void> {
  const webhook = db.selectFrom('webhooks').select(['organization_id', 'url']).where('id', '=', webhookId)
  const { organization_id, url } = await webhook.executeTakeFirstOrThrow()
  switch (state) {
    case 'active':
      return await notifyWebhookActive(db, organization_id, { webhookId, url }, now)
    case 'paused':
      return await notifyWebhookPaused(db, organization_id, { webhookId, url, error: error ?? '', statusCode }, now)
  }
}
