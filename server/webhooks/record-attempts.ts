import { sql } from 'kysely'
import type { Tenant } from '../context.ts'
import { isOneOfTenants, type TenantId, updateEach } from '../database/bulk.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { forNoKeyUpdate } from '../database/dialect.ts'
import { getTenantRow } from '../database/tenant-row.ts'
import type { WebhookNotice } from '../mail/mail-templates.ts'
import { notifyAboutWebhook } from '../mail/notifications.ts'
import { complete, reschedule } from '../queue/lease-queue.ts'
import type { AttemptResult } from './attempt.ts'
import type { ClaimedRequest, RequestClaim } from './claim-requests.ts'
import { makeWebhooksDue, pause, resume } from './due-webhooks.ts'
import { countStored } from './storage-usage.ts'
import { afterAttempt, type Transition } from './transition.ts'

/** A claimed request and the result of its attempt; null if it was not attempted and is released. */
export type ProcessedRequest = { claimed: ClaimedRequest; result: AttemptResult | null }

/** What is written for one attempt. */
type AttemptUpdate = {
  claim: RequestClaim
  organizationId: string
  /** Number of attempts before this one. */
  attempts: number
  result: AttemptResult
  transition: Transition
  deliveredAt: number | null
}

/** A webhook that was paused or resumed, for the log. `isGone`: a 410 paused it, not the retry schedule. */
export type StateChange = { webhookId: string; state: 'active' | 'paused'; error: string | null; isGone: boolean }

/**
 * Records attempts in one transaction: the request, the attempt and the webhook. Writes nothing for a lost lease.
 * Returns the webhooks whose state changed.
 */
export async function recordAttempts(
  db: Database,
  items: readonly ProcessedRequest[],
  now: number,
): Promise<StateChange[]> {
  const releases = items.filter(({ result }) => result === null).map(({ claimed }) => newRelease(claimed, now))
  const updates = items.flatMap((item) => newAttemptUpdates(item, now))
  return await inTransaction(db, (transaction) => record(transaction, { releases, updates, now }))
}

/** Whether the attempt pauses its webhook as soon as it is recorded. */
export function pausesWebhook({ claim, requestState }: ClaimedRequest, result: AttemptResult, now: number): boolean {
  return afterAttempt(requestState, claim.trigger, result, now).webhook === 'pause'
}

const webhookOf = ({ claim, organizationId }: Pick<AttemptUpdate, 'claim' | 'organizationId'>): TenantId => ({
  organizationId,
  id: claim.webhook_id,
})

/** A released request keeps its due time. A manual one is due now. */
function newRelease({ claim, organizationId, requestState }: ClaimedRequest, now: number): Release {
  return {
    claim,
    organizationId,
    dueAt: claim.trigger === 'manual' ? now : Math.max(now, requestState.nextAttemptAt ?? now),
  }
}

function newAttemptUpdates({ claimed, result }: ProcessedRequest, now: number): AttemptUpdate[] {
  if (result === null) return []
  const { claim, organizationId, attempts, requestState } = claimed
  const transition = afterAttempt(requestState, claim.trigger, result, now)
  const deliveredAt = result.delivered ? now : claimed.deliveredAt
  return [{ claim, organizationId, attempts, result, transition, deliveredAt }]
}

type Release = { claim: RequestClaim; organizationId: string; dueAt: number }
type RecordInput = { releases: Release[]; updates: AttemptUpdate[]; now: number }

async function record(db: Database, { releases, updates, now }: RecordInput): Promise<StateChange[]> {
  const paused = await lockWebhooks(db, [...releases, ...updates].map(webhookOf))
  await release(db, releases, now)
  const owned = await writeQueue(db, updates)
  await writeRequests(db, owned)
  const changes = await writeWebhooks(db, owned, paused, now)
  const responseSizes = owned.map(
    ({ organizationId, result }) => [organizationId, Buffer.byteLength(result.excerpt ?? '')] as const,
  )
  await countStored(db, responseSizes)
  return changes
}

/**
 * Locks the webhooks in one order before anything else, so that processes that record for the same webhooks do not deadlock.
 * Returns the paused ones.
 */
async function lockWebhooks(db: Database, webhooks: readonly TenantId[]): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('webhooks')
    .select(['id', 'state'])
    .where(isOneOfTenants(db, 'webhooks', webhooks))
    .orderBy('id')
    .modifyEnd(forNoKeyUpdate(db))
    .execute()
  return new Set(rows.filter(({ state }) => state === 'paused').map(({ id }) => id))
}

async function release(db: Database, releases: readonly Release[], now: number): Promise<void> {
  await reschedule(
    db,
    'due_requests',
    releases.map(({ claim, dueAt }) => ({ claim, set: { due_at: dueAt } })),
  )
  // Until now the webhook was due only at the end of the lease.
  await makeWebhooksDue(db, [...new Set(releases.map(({ claim }) => claim.webhook_id))], now)
}

/** Removes finished requests from the queue and reschedules the others. Returns the updates whose lease was still owned. */
async function writeQueue(db: Database, items: readonly AttemptUpdate[]): Promise<AttemptUpdate[]> {
  const done: RequestClaim[] = []
  const retries: { claim: RequestClaim; set: { due_at: number; is_manual: 0 } }[] = []
  for (const { claim, transition } of items) {
    if (transition.nextAttemptAt === null) done.push(claim)
    else retries.push({ claim, set: { due_at: transition.nextAttemptAt, is_manual: 0 } })
  }
  const completed = await complete(db, 'due_requests', done)
  const ownedClaims = new Set([...completed, ...(await reschedule(db, 'due_requests', retries))])
  return items.filter(({ claim }) => ownedClaims.has(claim))
}

async function writeRequests(db: Database, items: readonly AttemptUpdate[]): Promise<void> {
  const rows = items.map(({ claim, organizationId, attempts, result, transition, deliveredAt }) => ({
    id: claim.request_id,
    organization_id: organizationId,
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
  await archivePreviousAttempts(
    db,
    items
      .filter(({ attempts }) => attempts > 0)
      .map(({ claim, organizationId }) => ({ organizationId, id: claim.request_id })),
  )
  await updateEach(db, { table: 'webhook_requests', key: TENANT_KEY, set: REQUEST_COLUMNS }, rows)
}

/** Copies the last attempt out of the request's row before the new attempt overwrites it. */
async function archivePreviousAttempts(db: Database, requests: readonly TenantId[]): Promise<void> {
  if (requests.length === 0) return
  const columns = sql.raw('status_code, error, response_body, timings')
  await sql`insert into webhook_attempts (organization_id, request_id, number, attempted_at, ${columns})
    select organization_id, id, attempts, last_attempt_at, ${columns} from webhook_requests
    where ${isOneOfTenants(db, 'webhook_requests', requests)}`.execute(db)
}

const TENANT_KEY = { id: 'text', organization_id: 'text' } as const

const REQUEST_COLUMNS = {
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
  items: readonly AttemptUpdate[],
  paused: ReadonlySet<string>,
  now: number,
): Promise<StateChange[]> {
  const byWebhook = Map.groupBy(items, ({ claim }) => claim.webhook_id)
  const summaries = [...byWebhook].map(([id, attempts]) => summarize(id, attempts))
  await updateEach(
    db,
    { table: 'webhooks', key: TENANT_KEY, set: { last_error: 'text', last_executed_at: 'bigint' } },
    summaries.map(({ id, last: { result, organizationId } }) => ({
      id,
      organization_id: organizationId,
      new_last_error: result.error,
      new_last_executed_at: result.at,
    })),
  )
  const changes: StateChange[] = []
  for (const { id, last, pausing } of summaries.toSorted((one, other) => (one.id < other.id ? -1 : 1))) {
    const change = stateChangeOf(id, last.result, pausing?.result, paused.has(id))
    if (!change) continue
    const tenant = { organizationId: last.organizationId }
    if (change.state === 'active') await resume(db, tenant, id, now)
    else await pause(db, tenant, id, now)
    await notifyOwners(db, tenant, change, pausing?.result.statusCode ?? null, now)
    changes.push(change)
  }
  return changes
}

/**
 * What attempts that are recorded together, in the order of their responses, mean for their webhook. One success means that
 * the endpoint works, unless a later response is 410.
 */
function summarize(id: string, attempts: readonly AttemptUpdate[]) {
  const delivered = attempts.findLastIndex(({ result }) => result.delivered)
  const gone = attempts.findLastIndex(({ result }) => result.gone)
  const last = attempts[gone > delivered ? gone : delivered] ?? attempts.at(-1)!
  return { id, last, pausing: attempts.find(({ transition }) => transition.webhook === 'pause') }
}

function stateChangeOf(
  webhookId: string,
  last: AttemptResult,
  pausing: AttemptResult | undefined,
  isPaused: boolean,
): StateChange | undefined {
  if (last.delivered) return isPaused ? { webhookId, state: 'active', error: null, isGone: false } : undefined
  return pausing && !isPaused ? { webhookId, state: 'paused', error: pausing.error, isGone: pausing.gone } : undefined
}

async function notifyOwners(
  db: Database,
  tenant: Tenant,
  { webhookId, state, error }: StateChange,
  statusCode: number | null,
  now: number,
): Promise<void> {
  const { url } = await getTenantRow(db, 'webhooks', tenant, webhookId)
  const notice: WebhookNotice =
    state === 'active'
      ? { kind: 'webhook_active', url }
      : { kind: 'webhook_paused', url, error: error ?? '', statusCode }
  await notifyAboutWebhook(db, { ...tenant, webhookId }, notice, now)
}
