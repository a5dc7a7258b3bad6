import { type Selectable, sql } from 'kysely'
import type { WebhookRequest, WebhookRequestInFull, WebhookRequestQuery } from '#contract/webhooks.ts'
import { type Database, forUpdate } from '../database/database.ts'
import type { WebhookRequestsTable } from '../database/schema.ts'
import { type EventRow, toEvent } from '../events/store.ts'
import { listPage, type Page } from '../http/pages.ts'
import { isoOf, isoOrNull, parseTime } from '../http/times.ts'
import { newId } from '../ids.ts'
import { notFound } from '../problem.ts'
import type { Seal } from '../seal.ts'
import { newPayload } from './payload.ts'
import { getWebhookRow } from './store.ts'

type RequestRow = Selectable<WebhookRequestsTable>
/** A list does not read the bodies. */
type ListedRow = Omit<RequestRow, 'body'>

const LISTED = [
  'id',
  'webhook_id',
  'event_id',
  'created_at',
  'status',
  'retries',
  'delivered_at',
  'status_code',
  'error',
  'response_body',
  'last_attempt_at',
  'next_attempt_at',
] as const

const ORDERS = {
  created: { column: 'webhook_requests.id' },
  last_attempt: { column: 'webhook_requests.last_attempt_at', isNullable: true },
}

const TIME_FILTERS = [
  ['created_before', 'created_at', '<'],
  ['created_after', 'created_at', '>'],
  ['delivered_before', 'delivered_at', '<'],
  ['delivered_after', 'delivered_at', '>'],
  ['last_attempt_before', 'last_attempt_at', '<'],
  ['last_attempt_after', 'last_attempt_at', '>'],
] as const

export async function listRequests(
  db: Database,
  seal: Seal,
  organizationId: string,
  webhookId: string,
  query: WebhookRequestQuery,
): Promise<Page<WebhookRequest>> {
  await getWebhookRow(db, organizationId, webhookId)
  let base = db
    .selectFrom('webhook_requests')
    .select(LISTED.map((column) => `webhook_requests.${column}` as const))
    .where('webhook_requests.organization_id', '=', organizationId)
    .where('webhook_requests.webhook_id', '=', webhookId)
  for (const field of ['status', 'status_code', 'monitor_id', 'event_id'] as const) {
    const wanted = query[field]
    if (wanted !== undefined) base = base.where(`webhook_requests.${field}`, '=', wanted as never)
  }
  const times: (number | null)[] = []
  for (const [field, column, sign] of TIME_FILTERS) {
    const text = query[field]
    times.push(text === undefined ? null : parseTime(field, text))
    if (text !== undefined) base = base.where(`webhook_requests.${column}`, sign, parseTime(field, text))
  }
  const { status, status_code, monitor_id, event_id } = query
  const page = await listPage<ListedRow>(base as never, {
    seal,
    query,
    id: 'webhook_requests.id',
    orders: ORDERS,
    scope: ['requests', organizationId, webhookId, status, status_code, monitor_id, event_id, times],
  })
  return { ...page, data: page.data.map(toRequest) }
}

/** With its payload and attempts. Throws `not_found`, also for another webhook's request. */
export async function getRequest(
  db: Database,
  organizationId: string,
  webhookId: string,
  id: string,
): Promise<WebhookRequestInFull> {
  const row = await db
    .selectFrom('webhook_requests')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('webhook_id', '=', webhookId)
    .where('id', '=', id)
    .executeTakeFirst()
  if (!row) throw notFound()
  const attempts = await db
    .selectFrom('webhook_attempts')
    .selectAll()
    .where('request_id', '=', id)
    .orderBy('number')
    .limit(1_000)
    .execute()
  return {
    ...toRequest(row),
    payload: JSON.parse(Buffer.from(row.body).toString()),
    attempts: attempts.map((attempt) => ({
      number: attempt.number,
      attempted: isoOf(attempt.attempted_at),
      status_code: attempt.status_code,
      error: attempt.error,
      response_body: attempt.response_body,
      timings: JSON.parse(attempt.timings),
    })),
  }
}

/**
 * Writes what each webhook of the events' groups is to be sent, in the transaction that writes the events, and makes it
 * due at once. A paused webhook's requests are kept until it is active again.
 */
export async function insertRequests(db: Database, events: readonly EventRow[], now: number): Promise<void> {
  if (events.length === 0) return
  const links = await db
    .selectFrom('group_webhooks')
    .innerJoin('webhooks', 'webhooks.id', 'group_webhooks.webhook_id')
    .select(['group_webhooks.group_id', 'webhooks.id', 'webhooks.state'])
    .where('group_webhooks.group_id', 'in', [...new Set(events.map((event) => event.group_id))])
    .where('webhooks.is_active', '=', 1)
    .execute()
  const rows = events.flatMap((event) =>
    links
      .filter((link) => link.group_id === event.group_id)
      .map((link) => newRequest(event, link.id, now, link.state === 'paused')),
  )
  for (let from = 0; from < rows.length; from += INSERT_BATCH) {
    const batch = rows.slice(from, from + INSERT_BATCH)
    await db.insertInto('webhook_requests').values(batch).execute()
    const due = batch.map((row) => ({ webhook_id: row.webhook_id, request_id: row.id, due_at: now }))
    await db.insertInto('due_requests').values(due).execute()
  }
  await makeDue(db, [...new Set(rows.filter((row) => row.next_attempt_at !== null).map((row) => row.webhook_id))], now)
}

const INSERT_BATCH = 500

function newRequest(event: EventRow, webhookId: string, now: number, isPaused: boolean) {
  const id = newId('req', now)
  return {
    id,
    organization_id: event.organization_id,
    webhook_id: webhookId,
    event_id: event.id,
    monitor_id: event.monitor_id,
    created_at: now,
    body: newPayload({ requestId: id, webhookId, event: toEvent(event), createdAt: now }),
    status: 'PENDING' as const,
    attempts: 0,
    retries: 0,
    next_attempt_at: isPaused ? null : now,
  }
}

/** Brings a webhook's own due time forward; never moves it back. */
export async function makeDue(db: Database, webhookIds: string[], now: number): Promise<void> {
  if (webhookIds.length === 0) return
  // Locked in one order first, so that two writers do not wait for each other.
  await sql`
    with late as (
      select webhook_id from due_webhooks
      where webhook_id in (${sql.join(webhookIds)}) and (due_at is null or due_at > ${now})
      order by webhook_id ${forUpdate(db)}
    )
    update due_webhooks set due_at = ${now} from late where due_webhooks.webhook_id = late.webhook_id`.execute(db)
}

function toRequest(row: ListedRow): WebhookRequest {
  return {
    id: row.id,
    webhook_id: row.webhook_id,
    event_id: row.event_id,
    created: isoOf(row.created_at),
    status: row.status,
    retries: row.retries,
    delivered: isoOrNull(row.delivered_at),
    status_code: row.status_code,
    error: row.error,
    response_body: row.response_body,
    last_attempt: isoOrNull(row.last_attempt_at),
    next_attempt: isoOrNull(row.next_attempt_at),
  }
}
