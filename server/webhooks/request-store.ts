import { type Selectable, sql } from 'kysely'
import {
  UNDELIVERED_STATUSES,
  type UndeliveredQuery,
  type WebhookRequest,
  type WebhookRequestDetails,
  type WebhookRequestQuery,
} from '#contract/webhooks.ts'
import type { Tenant } from '../context.ts'
import type { Database } from '../database/database.ts'
import { choosesIndexes } from '../database/dialect.ts'
import { fromIndex, type IndexedFilter, narrowestIndex } from '../database/index-hints.ts'
import type { Order } from '../database/pagination.ts'
import { listPage, type Page, resolveOrderBy } from '../database/pagination.ts'
import type { WebhookRequestsTable } from '../database/schema-webhooks.ts'
import { getTenantRow } from '../database/tenant-row.ts'
import type { Keyring } from '../keyring.ts'
import { notFound } from '../problem.ts'
import { LEASE_MS } from '../queue/lease-queue.ts'
import { parseTimes, toIso, toIsoOrNull } from '../times.ts'
import { batchRequestIds } from './batches.ts'
import { type NextAttempts, readNextAttempts } from './due-webhooks.ts'
import { readBody } from './request-body.ts'

const ORDERS = {
  created: { column: 'webhook_requests.created_at' },
  last_attempt: { column: 'webhook_requests.last_attempt_at', isNullable: true },
} satisfies Record<string, Order>
type OrderName = keyof typeof ORDERS

const EQUALITY_FILTERS = ['status', 'status_code', 'monitor_id', 'event_id'] as const
type EqualityFilter = (typeof EQUALITY_FILTERS)[number]

/** Throws `not_found`, and a 400 for an invalid filter or cursor. */
export async function listRequests(
  db: Database,
  keyring: Keyring,
  { organizationId, webhookId, query }: { organizationId: string; webhookId: string; query: WebhookRequestQuery },
  now: number,
): Promise<Page<WebhookRequest>> {
  await getTenantRow(db, 'webhooks', { organizationId }, webhookId)
  const orderBy = resolveOrderBy({ query, orders: ORDERS }) as OrderName
  const times = parseTimeFilters(query)
  const batched = await findInBatches(db, { organizationId, webhookId }, query)
  const filters = indexedFiltersOf(webhookId, query).filter(({ columns }) => !batched.has(columns[1] as EqualityFilter))
  const index = await indexFor(db, filters, orderBy)
  let rows = db
    .selectFrom(fromIndex(db, 'webhook_requests', index))
    .select(LIST_COLUMNS.map((column) => `webhook_requests.${column}` as const))
    .where('webhook_requests.organization_id', '=', organizationId)
    .where('webhook_requests.webhook_id', '=', webhookId)
  for (const { where } of filters) if (where !== undefined) rows = rows.where(sql.raw<boolean>(where))
  for (const field of EQUALITY_FILTERS) {
    const value = query[field]
    const ids = batched.get(field)
    if (ids) rows = rows.where('webhook_requests.id', 'in', ids)
    else if (value !== undefined) rows = rows.where(sql<boolean>`${sql.ref(`webhook_requests.${field}`)} = ${value}`)
  }
  if (query.is_test !== undefined) rows = rows.where(isTestCondition(query.is_test))
  for (const [column, { above, below }] of Object.entries(times)) {
    const ref = sql.ref(`webhook_requests.${column}`)
    if (ORDERS[orderBy].column.endsWith(column)) continue // the bounds of the order are below
    if (above !== undefined) rows = rows.where(sql<boolean>`${ref} > ${above}`)
    if (below !== undefined) rows = rows.where(sql<boolean>`${ref} < ${below}`)
  }
  const page = await listPage<ListRow>(rows, {
    keyring,
    query,
    id: 'webhook_requests.id',
    orders: { ...ORDERS, [orderBy]: { ...ORDERS[orderBy], ...orderBounds(orderBy, times) } },
    scope: ['requests', webhookId, EQUALITY_FILTERS.map((field) => query[field] ?? null), times, query.is_test ?? null],
  })
  const next = await readNextAttempts(db, { organizationId }, page.data, now)
  return { ...page, data: page.data.map((row) => toRequest(row, next)) }
}

/** The requests whose batch has the requested event or monitor, by filter. */
async function findInBatches(db: Database, webhook: Tenant & { webhookId: string }, query: WebhookRequestQuery) {
  const found = new Map<EqualityFilter, NonNullable<Awaited<ReturnType<typeof batchRequestIds>>>>()
  for (const field of ['event_id', 'monitor_id'] as const) {
    const value = query[field]
    const ids = value === undefined ? undefined : await batchRequestIds(db, webhook, field, value)
    if (ids) found.set(field, ids)
  }
  return found
}

/** A test has an id of its own form, as receivers see it. */
const isTestCondition = (isTest: boolean) =>
  isTest
    ? sql<boolean>`webhook_requests.id like 'req#_test#_%' escape '#'`
    : sql<boolean>`webhook_requests.id not like 'req#_test#_%' escape '#'`

/** Undelivered requests of all webhooks. Throws a 400 for an invalid filter or cursor. */
export async function listUndelivered(
  db: Database,
  keyring: Keyring,
  { organizationId }: Tenant,
  query: UndeliveredQuery,
  now: number,
): Promise<Page<WebhookRequest>> {
  const { status, webhook_id: webhookId, is_test: isTest = false } = query
  const { since } = parseTimes(query, ['since'])
  let rows = db
    .selectFrom(fromIndex(db, 'webhook_requests', await undeliveredIndex(db, query)))
    .select(LIST_COLUMNS.map((column) => `webhook_requests.${column}` as const))
    .where('webhook_requests.organization_id', '=', organizationId)
    .where(sql.raw<boolean>(PARTIAL_INDEX_CONDITIONS.status!))
    .where(isTestCondition(isTest))
    // Requests of deleted webhooks are deleted later, in batches. For EXISTS SQLite would join and sort.
    .where(sql<boolean>`(select 1 from webhooks where webhooks.organization_id = ${organizationId}
      and webhooks.id = webhook_requests.webhook_id) is not null`)
  if (webhookId !== undefined) rows = rows.where('webhook_requests.webhook_id', '=', webhookId)
  if (status !== undefined) rows = rows.where('webhook_requests.status', '=', status)
  // The bound itself is excluded.
  const above = since === undefined ? undefined : since - 1
  const page = await listPage<ListRow>(rows, {
    keyring,
    query,
    id: 'webhook_requests.id',
    orders: { created: { ...ORDERS.created, above } },
    scope: ['undelivered', organizationId, status ?? null, webhookId ?? null, since ?? null, isTest],
  })
  const next = await readNextAttempts(db, { organizationId }, page.data, now)
  return { ...page, data: page.data.map((row) => toRequest(row, next)) }
}

/** The index for SQLite; undefined if the planner decides. The few undelivered requests of a webhook are sorted. */
async function undeliveredIndex(
  db: Database,
  { status, webhook_id: webhookId }: UndeliveredQuery,
): Promise<string | undefined> {
  if (choosesIndexes(db)) return undefined
  if (webhookId === undefined) {
    return status === undefined ? 'webhook_requests_undelivered' : 'webhook_requests_undelivered_by_status'
  }
  const index = 'webhook_requests_by_status'
  if (status !== undefined) return index
  const where = PARTIAL_INDEX_CONDITIONS.status!
  const filter = { index, columns: ['webhook_id', 'status'], values: [webhookId, UNDELIVERED_STATUSES], where }
  const chosen = await narrowestIndex(db, 'webhook_requests', [filter])
  return chosen?.isFew ? index : 'webhook_requests_undelivered'
}

const TIMES = [
  'created_after',
  'created_before',
  'delivered_after',
  'delivered_before',
  'last_attempt_after',
  'last_attempt_before',
] as const
type Bounds = { above: number | undefined; below: number | undefined }
type Times = Record<'created_at' | 'delivered_at' | 'last_attempt_at', Bounds>

function parseTimeFilters(query: WebhookRequestQuery): Times {
  const times = parseTimes(query, TIMES)
  const delivered = { above: times.delivered_after, below: times.delivered_before }
  const attempted = { above: times.last_attempt_after, below: times.last_attempt_before }
  // The attempt of a request delivered after an instant began at most a lease before it; attempts have an index.
  const attemptedAfter = delivered.above === undefined ? undefined : delivered.above - LEASE_MS
  return {
    created_at: { above: times.created_after, below: times.created_before },
    delivered_at: delivered,
    last_attempt_at: { ...attempted, above: attempted.above ?? attemptedAfter },
  }
}

/** A request attempted or delivered before an instant was created before it, which bounds the order of creation, too. */
function orderBounds(orderBy: OrderName, { created_at, delivered_at, last_attempt_at }: Times): Bounds {
  if (orderBy === 'last_attempt') return last_attempt_at
  const below = [created_at, delivered_at, last_attempt_at].flatMap((bounds) => bounds.below ?? [])
  return { above: created_at.above, below: below.length === 0 ? undefined : Math.min(...below) }
}

function indexedFiltersOf(webhookId: string, query: WebhookRequestQuery): IndexedFilter[] {
  return EQUALITY_FILTERS.flatMap((field) => {
    const value = query[field]
    if (value === undefined || isCommon(field, value)) return []
    const index = `webhook_requests_by_${field.replace('_id', '')}`
    const where = PARTIAL_INDEX_CONDITIONS[field]
    return [{ index, columns: ['webhook_id', field], values: [webhookId, value], ...(where ? { where } : {}) }]
  })
}

/** Values of most requests have no index: a scan finds them quickly. */
const isCommon = (field: string, value: string | number) =>
  field === 'status' ? value === 'DELIVERED' : field === 'status_code' && Number(value) < 300

const PARTIAL_INDEX_CONDITIONS: Partial<Record<(typeof EQUALITY_FILTERS)[number], string>> = {
  status: "status <> 'DELIVERED'",
  status_code: 'status_code >= 300',
}

/** Undefined if the planner decides. */
async function indexFor(
  db: Database,
  filters: readonly IndexedFilter[],
  orderBy: OrderName,
): Promise<string | undefined> {
  const chosen = filters.length === 0 ? undefined : await narrowestIndex(db, 'webhook_requests', filters)
  return chosen && (orderBy === 'created' || chosen.isFew) ? chosen.filter.index : undefined
}

type RequestRow = Selectable<WebhookRequestsTable>
/** Lists do not read the bodies. */
export type ListRow = Pick<RequestRow, (typeof LIST_COLUMNS)[number]>

export const LIST_COLUMNS = [
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
  'events',
] as const

/** Throws `not_found`. */
export async function getRequest(
  db: Database,
  tenant: Tenant,
  webhookId: string,
  id: string,
  now: number,
): Promise<WebhookRequest> {
  const row = await getRequestRow(db, tenant, webhookId, id)
  return toRequest(row, await readNextAttempts(db, tenant, [row], now))
}

/** With payload and attempts. Throws `not_found`. */
export async function getRequestDetails(
  db: Database,
  tenant: Tenant,
  webhookId: string,
  id: string,
  now: number,
): Promise<WebhookRequestDetails> {
  const row = await getRequestRow(db, tenant, webhookId, id)
  const earlier = await db
    .selectFrom('webhook_attempts')
    .selectAll()
    .where('organization_id', 'in', [tenant.organizationId, ''])
    .where('request_id', '=', id)
    .orderBy('number', 'desc')
    .limit(MAX_ATTEMPTS - 1)
    .execute()
  const { attempts: number, last_attempt_at: attempted_at, timings } = row
  const last = attempted_at === null || timings === null ? [] : [{ ...row, number, attempted_at, timings }]
  return {
    ...toRequest(row, await readNextAttempts(db, tenant, [row], now)),
    payload: JSON.parse((await readBody(db, row)).toString()),
    attempts: [...earlier.reverse(), ...last].map((attempt) => ({
      number: attempt.number,
      attempted: toIso(attempt.attempted_at),
      status_code: attempt.status_code,
      error: attempt.error,
      response_body: attempt.response_body,
      timings: JSON.parse(attempt.timings),
    })),
  }
}

/** The body that every attempt sends. Throws `not_found`. */
export async function getRequestBody(db: Database, tenant: Tenant, webhookId: string, id: string): Promise<string> {
  return (await readBody(db, await getRequestRow(db, tenant, webhookId, id))).toString()
}

/** The number of attempts of each request, including manual ones. */
export async function countAttempts(
  db: Database,
  { organizationId }: Tenant,
  webhookId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('webhook_requests')
    .select(['id', 'attempts'])
    .where('organization_id', '=', organizationId)
    .where('webhook_id', '=', webhookId)
    .where('id', 'in', ids)
    .execute()
  return new Map(rows.map(({ id, attempts }) => [id, attempts]))
}

/** The schedule has ten attempts; probes and manual retries add to them. */
const MAX_ATTEMPTS = 200

export async function getRequestRow(db: Database, tenant: Tenant, webhookId: string, id: string): Promise<RequestRow> {
  const { organizationId } = tenant
  await getTenantRow(db, 'webhooks', tenant, webhookId)
  const row = await db
    .selectFrom('webhook_requests')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('webhook_id', '=', webhookId)
    .where('id', '=', id)
    .executeTakeFirst()
  if (!row) throw notFound()
  return row
}

export function toRequest(row: ListRow, next: NextAttempts): WebhookRequest {
  return {
    id: row.id,
    webhook_id: row.webhook_id,
    event_id: row.event_id,
    created: toIso(row.created_at),
    status: row.status,
    retries: row.retries,
    delivered: toIsoOrNull(row.delivered_at),
    status_code: row.status_code,
    error: row.error,
    response_body: row.response_body,
    last_attempt: toIsoOrNull(row.last_attempt_at),
    next_attempt: toIsoOrNull(next.get(row.id) ?? null),
    ...(row.events === null ? {} : { events: row.events }),
  }
}
