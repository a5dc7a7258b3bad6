import { sql } from 'kysely'
import {
  UNDELIVERED_STATUSES,
  type UndeliveredQuery,
  type WebhookRequest,
  type WebhookRequestQuery,
} from '#contract/webhooks.ts'
import type { Tenant } from '../context.ts'
import { type Database, engineOf } from '../database/database.ts'
import { type IndexedFilter, narrowestIndex, withIndex } from '../database/index-hints.ts'
import { LEASE_MS } from '../database/lease-queue.ts'
import type { Order } from '../database/pagination.ts'
import { listPage, type Page, resolveOrderBy } from '../database/pagination.ts'
import { getTenantRow } from '../database/tenant-row.ts'
import type { Seal } from '../seal.ts'
import { parseTimes } from '../times.ts'
import { batchRequestIds } from './batches.ts'
import { readNextAttempts } from './queue-mode.ts'
import { LIST_COLUMNS, type ListRow, toRequest } from './request-store.ts'

const ORDERS = {
  created: { column: 'webhook_requests.created_at' },
  last_attempt: { column: 'webhook_requests.last_attempt_at', isNullable: true },
} satisfies Record<string, Order>
type OrderName = keyof typeof ORDERS

const EQUALITIES = ['status', 'status_code', 'monitor_id', 'event_id'] as const
type Equality = (typeof EQUALITIES)[number]

/** Throws `not_found` for the webhook, a 400 for a filter or cursor that cannot be used. */
export async function listRequests(
  db: Database,
  seal: Seal,
  { organizationId, webhookId, query }: { organizationId: string; webhookId: string; query: WebhookRequestQuery },
  now: number,
): Promise<Page<WebhookRequest>> {
  await getTenantRow(db, 'webhooks', { organizationId }, webhookId)
  const orderBy = resolveOrderBy({ query, orders: ORDERS }) as OrderName
  const times = timesOf(query)
  const batched = await batchedOf(db, { organizationId, webhookId }, query)
  const filters = indexedFiltersOf(webhookId, query).filter(({ columns }) => !batched.has(columns[1] as Equality))
  const index = await indexFor(db, filters, orderBy)
  const table = index === undefined ? 'webhook_requests' : withIndex('webhook_requests', { index })
  let rows = db
    .selectFrom(table as 'webhook_requests')
    .select(LIST_COLUMNS.map((column) => `webhook_requests.${column}` as const))
    .where('webhook_requests.organization_id', '=', organizationId)
    .where('webhook_requests.webhook_id', '=', webhookId)
  for (const { where } of filters) if (where !== undefined) rows = rows.where(sql.raw<boolean>(where))
  for (const field of EQUALITIES) {
    const wanted = query[field]
    const ids = batched.get(field)
    if (ids) rows = rows.where('webhook_requests.id', 'in', ids)
    else if (wanted !== undefined) rows = rows.where(sql<boolean>`${sql.ref(`webhook_requests.${field}`)} = ${wanted}`)
  }
  for (const [column, { above, below }] of Object.entries(times)) {
    const ref = sql.ref(`webhook_requests.${column}`)
    if (ORDERS[orderBy].column.endsWith(column)) continue // the order's own bounds
    if (above !== undefined) rows = rows.where(sql<boolean>`${ref} > ${above}`)
    if (below !== undefined) rows = rows.where(sql<boolean>`${ref} < ${below}`)
  }
  const page = await listPage<ListRow>(rows as never, {
    seal,
    query,
    id: 'webhook_requests.id',
    orders: { ...ORDERS, [orderBy]: { ...ORDERS[orderBy], ...boundsOf(orderBy, times) } },
    scope: ['requests', webhookId, EQUALITIES.map((field) => query[field] ?? null), times],
  })
  const next = await readNextAttempts(db, { organizationId }, page.data, now)
  return { ...page, data: page.data.map((row) => toRequest(row, next)) }
}

/** What is also found in batches. */
async function batchedOf(db: Database, webhook: Tenant & { webhookId: string }, query: WebhookRequestQuery) {
  const found = new Map<Equality, NonNullable<Awaited<ReturnType<typeof batchRequestIds>>>>()
  for (const field of ['event_id', 'monitor_id'] as const) {
    const wanted = query[field]
    const ids = wanted === undefined ? undefined : await batchRequestIds(db, webhook, field, wanted)
    if (ids) found.set(field, ids)
  }
  return found
}

/** What was not delivered, of all webhooks. Throws a 400 for a filter or cursor that cannot be used. */
export async function listUndelivered(
  db: Database,
  seal: Seal,
  { organizationId }: Tenant,
  query: UndeliveredQuery,
  now: number,
): Promise<Page<WebhookRequest>> {
  const { status, webhook_id: webhookId } = query
  const { since } = parseTimes(query, ['since'])
  const table = withIndex('webhook_requests', { index: await undeliveredIndex(db, query) })
  let rows = db
    .selectFrom(table as unknown as 'webhook_requests')
    .select(LIST_COLUMNS.map((column) => `webhook_requests.${column}` as const))
    .where('webhook_requests.organization_id', '=', organizationId)
    .where(sql.raw<boolean>(PARTIAL.status!))
    // Those of a webhook that was deleted are deleted afterwards, in batches. SQLite would join and sort for EXISTS.
    .where(sql<boolean>`(select 1 from webhooks where webhooks.organization_id = ${organizationId}
      and webhooks.id = webhook_requests.webhook_id) is not null`)
  if (webhookId !== undefined) rows = rows.where('webhook_requests.webhook_id', '=', webhookId)
  if (status !== undefined) rows = rows.where('webhook_requests.status', '=', status)
  // Bounds leave out their own instant.
  const above = since === undefined ? undefined : since - 1
  const page = await listPage<ListRow>(rows as never, {
    seal,
    query,
    id: 'webhook_requests.id',
    orders: { created: { ...ORDERS.created, above } },
    scope: ['undelivered', organizationId, status ?? null, webhookId ?? null, since ?? null],
  })
  const next = await readNextAttempts(db, { organizationId }, page.data, now)
  return { ...page, data: page.data.map((row) => toRequest(row, next)) }
}

/** Which index SQLite walks. Of a webhook with few of any status these are sorted. Undefined where the planner knows best. */
async function undeliveredIndex(
  db: Database,
  { status, webhook_id: webhookId }: UndeliveredQuery,
): Promise<string | undefined> {
  if (engineOf(db) === 'postgres') return undefined
  if (webhookId === undefined) {
    return status === undefined ? 'webhook_requests_undelivered' : 'webhook_requests_undelivered_by_status'
  }
  const index = 'webhook_requests_by_status'
  if (status !== undefined) return index
  const where = PARTIAL.status!
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

function timesOf(query: WebhookRequestQuery): Times {
  const times = parseTimes(query, TIMES)
  const delivered = { above: times.delivered_after, below: times.delivered_before }
  const attempted = { above: times.last_attempt_after, below: times.last_attempt_before }
  // What was delivered after an instant was attempted at most a lease before it; that has an index.
  const sooner = delivered.above === undefined ? undefined : delivered.above - LEASE_MS
  return {
    created_at: { above: times.created_after, below: times.created_before },
    delivered_at: delivered,
    last_attempt_at: { ...attempted, above: attempted.above ?? sooner },
  }
}

/** What is attempted or delivered before an instant was made before it too, which bounds the walk in the order of making. */
function boundsOf(orderBy: OrderName, { created_at, delivered_at, last_attempt_at }: Times): Bounds {
  if (orderBy === 'last_attempt') return last_attempt_at
  const below = [created_at, delivered_at, last_attempt_at].flatMap((bounds) => bounds.below ?? [])
  return { above: created_at.above, below: below.length === 0 ? undefined : Math.min(...below) }
}

function indexedFiltersOf(webhookId: string, query: WebhookRequestQuery): IndexedFilter[] {
  return EQUALITIES.flatMap((field) => {
    const wanted = query[field]
    if (wanted === undefined || isUsual(field, wanted)) return []
    const index = `webhook_requests_by_${field.replace('_id', '')}`
    const where = PARTIAL[field]
    return [{ index, columns: ['webhook_id', field], values: [webhookId, wanted], ...(where ? { where } : {}) }]
  })
}

/** What most requests are is found by withIndex them all, and has no index. */
const isUsual = (field: string, wanted: string | number) =>
  field === 'status' ? wanted === 'DELIVERED' : field === 'status_code' && Number(wanted) < 300

const PARTIAL: Partial<Record<(typeof EQUALITIES)[number], string>> = {
  status: "status <> 'DELIVERED'",
  status_code: 'status_code >= 300',
}

/** Undefined where the planner knows best. */
async function indexFor(
  db: Database,
  filters: readonly IndexedFilter[],
  orderBy: OrderName,
): Promise<string | undefined> {
  const chosen = filters.length === 0 ? undefined : await narrowestIndex(db, 'webhook_requests', filters)
  return chosen && (orderBy === 'created' || chosen.isFew) ? chosen.filter.index : undefined
}
