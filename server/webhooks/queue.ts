import { sql } from 'kysely'
import { type Database, inTransaction, skipLocked } from '../database/database.ts'
import { type Claim, claimDue, writeBack } from '../database/due.ts'
import type { Seal } from '../seal.ts'
import type { AttemptRequest, AttemptResult } from './attempt.ts'
import { makeDue } from './request-store.ts'
import { afterAttempt, PROBE_MS, type Standing, type Transition } from './transition.ts'
import { headersContext, secretContext } from './webhook.ts'

/** A request that this process has claimed, with all that is needed to send it and to record what came of it. */
export type ClaimedRequest = {
  claim: Claim<'due_requests'>
  standing: Standing
  attempts: number
  request: AttemptRequest
}

export type DueWebhook = { webhook_id: string; state: 'active' | 'paused' }

/** Webhooks that have something to send, longest waiting first. `except`: those that this process has no room for. */
export async function findDueWebhooks(
  db: Database,
  { now, limit, except }: { now: number; limit: number; except: readonly string[] },
): Promise<DueWebhook[]> {
  let query = db
    .selectFrom('due_webhooks')
    .innerJoin('webhooks', 'webhooks.id', 'due_webhooks.webhook_id')
    .select(['due_webhooks.webhook_id', 'webhooks.state'])
    .where('due_webhooks.due_at', '<=', now)
    .where('webhooks.is_active', '=', 1)
  if (except.length > 0) query = query.where('due_webhooks.webhook_id', 'not in', except)
  return await query.orderBy('due_webhooks.due_at').limit(limit).execute()
}

/**
 * Claims requests of one webhook, oldest first, and notes when the webhook must be looked at next. Of a paused webhook one
 * request is claimed, as the probe.
 */
export async function claimRequests(
  db: Database,
  webhook: DueWebhook,
  { now, process, limit }: { now: number; process: number; limit: number },
): Promise<Claim<'due_requests'>[]> {
  const { webhook_id: webhookId, state } = webhook
  return await inTransaction(db, async (transaction) => {
    const locked = await sql`
      select webhook_id from due_webhooks where webhook_id = ${webhookId} and due_at <= ${now} ${skipLocked(transaction)}`.execute(
      transaction,
    )
    if (locked.rows.length === 0) return []
    const isPaused = state === 'paused'
    const options = { now, process, limit: isPaused ? 1 : limit, webhookId }
    const claims = await claimDue(transaction, 'due_requests', options)
    // A lease that runs out counts too: a request whose process died is found again.
    const next = isPaused
      ? sql`${now + PROBE_MS}`
      : sql`(select min(due_at) from due_requests where webhook_id = ${webhookId})`
    await sql`update due_webhooks set due_at = ${next} where webhook_id = ${webhookId}`.execute(transaction)
    return claims
  })
}

/** Reads what claimed requests are to send. One whose webhook is gone is left out. */
export async function readClaimed(
  db: Database,
  seal: Seal,
  claims: readonly Claim<'due_requests'>[],
  now: number,
): Promise<ClaimedRequest[]> {
  if (claims.length === 0) return []
  const rows = await db
    .selectFrom('webhook_requests')
    .innerJoin('webhooks', 'webhooks.id', 'webhook_requests.webhook_id')
    .select([
      'webhook_requests.id',
      'webhook_id',
      'body',
      'attempts',
      'retries',
      'url',
      'secret',
      'headers',
      'webhooks.state',
    ])
    .select(['previous_secret', 'previous_secret_until'])
    .where(
      'webhook_requests.id',
      'in',
      claims.map((claim) => claim.request_id),
    )
    .execute()
  const byId = new Map(rows.map((row) => [row.id, row]))
  return claims.flatMap((claim) => {
    const row = byId.get(claim.request_id)
    if (!row) return []
    const open = (sealed: Uint8Array) => seal.open(sealed, secretContext(row.webhook_id))
    const hasGrace = row.previous_secret !== null && (row.previous_secret_until ?? 0) > now
    const request = {
      id: row.id,
      url: row.url,
      headers: JSON.parse(seal.open(row.headers, headersContext(row.webhook_id))),
      body: Buffer.from(row.body),
      secret: open(row.secret),
      previousSecret: hasGrace && row.previous_secret ? open(row.previous_secret) : undefined,
    }
    const standing = { requestId: row.id, retries: row.retries, webhookState: row.state, isRetry: row.attempts > 0 }
    return [{ claim, standing, attempts: row.attempts, request }]
  })
}

export type Recorded = { claimed: ClaimedRequest; result: AttemptResult }
export type PausedWebhook = { webhookId: string; error: string }

/**
 * Records attempts in one transaction: request, attempt and webhook. Whoever lost its lease meanwhile records nothing.
 * Returns the webhooks that were paused by it.
 */
export async function recordAttempts(db: Database, items: readonly Recorded[], now: number): Promise<PausedWebhook[]> {
  return await inTransaction(db, async (transaction) => {
    const after = items.map((item) => ({ ...item, transition: afterAttempt(item.claimed.standing, item.result, now) }))
    const held = new Set(
      await writeBack(
        transaction,
        'due_requests',
        after.map(({ claimed, transition }) => ({
          claim: claimed.claim,
          set: { due_at: transition.isKept ? (transition.nextAttemptAt ?? now) : null },
        })),
      ),
    )
    const kept = after.filter(({ claimed }) => held.has(claimed.claim))
    for (const item of kept) await recordRequest(transaction, item, now)
    await forget(transaction, kept)
    return await recordWebhooks(transaction, kept, now)
  })
}

type Settled = Recorded & { transition: Transition }

async function recordRequest(db: Database, { claimed, result, transition }: Settled, now: number): Promise<void> {
  await db
    .updateTable('webhook_requests')
    .set({
      status: transition.status,
      attempts: claimed.attempts + 1,
      retries: transition.retries,
      delivered_at: result.delivered ? now : null,
      status_code: result.statusCode,
      error: result.error,
      response_body: result.excerpt,
      last_attempt_at: result.at,
      next_attempt_at: transition.nextAttemptAt,
    })
    .where('id', '=', claimed.request.id)
    .execute()
  await db
    .insertInto('webhook_attempts')
    .values({
      request_id: claimed.request.id,
      number: claimed.attempts + 1,
      attempted_at: result.at,
      status_code: result.statusCode,
      error: result.error,
      response_body: result.excerpt,
      timings: JSON.stringify(result.timings),
    })
    .execute()
}

/** What is delivered or given up leaves the queue. */
async function forget(db: Database, items: readonly Settled[]): Promise<void> {
  const done = items.filter(({ transition }) => !transition.isKept)
  if (done.length === 0) return
  const keys = done.map(({ claimed: { claim } }) => sql`(${claim.webhook_id}, ${claim.request_id})`)
  await sql`delete from due_requests where (webhook_id, request_id) in (values ${sql.join(keys)})`.execute(db)
}

async function recordWebhooks(db: Database, items: readonly Settled[], now: number): Promise<PausedWebhook[]> {
  const paused: PausedWebhook[] = []
  const byWebhook = Map.groupBy(items, ({ claimed }) => claimed.claim.webhook_id)
  for (const [webhookId, attempts] of [...byWebhook].sort(([a], [b]) => (a < b ? -1 : 1))) {
    // One success among them shows that the receiver is there again; otherwise one verdict to pause is enough.
    const delivered = attempts.find(({ result }) => result.delivered)
    const isPausing = attempts.some(({ transition }) => transition.webhookState === 'paused')
    const last = delivered ?? attempts.at(-1)!
    await db
      .updateTable('webhooks')
      .set({ last_error: last.result.error, last_executed_at: last.result.at })
      .where('id', '=', webhookId)
      .execute()
    if (delivered) {
      if (await changeState(db, webhookId, 'active')) await makeDue(db, [webhookId], now)
    } else if (isPausing && (await changeState(db, webhookId, 'paused'))) {
      await db
        .updateTable('due_webhooks')
        .set({ due_at: now + PROBE_MS })
        .where('webhook_id', '=', webhookId)
        .execute()
      paused.push({ webhookId, error: last.result.error ?? '' })
    }
  }
  return paused
}

/** Whether it was in the other state until now. */
async function changeState(db: Database, webhookId: string, state: 'active' | 'paused'): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('webhooks')
    .set({ state })
    .where('id', '=', webhookId)
    .where('state', '!=', state)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}
