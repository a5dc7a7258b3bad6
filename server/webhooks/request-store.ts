import type { Selectable } from 'kysely'
import type { WebhookRequest, WebhookRequestDetails } from '#contract/webhooks.ts'
import type { Tenant } from '../context.ts'
import type { Database } from '../database/database.ts'
import type { WebhookRequestsTable } from '../database/schema-webhooks.ts'
import { getTenantRow } from '../database/tenant-row.ts'
import { notFound } from '../problem.ts'
import { toIso, toIsoOrNull } from '../times.ts'
import { readBody } from './claimed.ts'
import { type NextAttempts, readNextAttempts } from './queue-mode.ts'

type RequestRow = Selectable<WebhookRequestsTable>
/** A list does not read the bodies. */
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

/** Throws `not_found`, also for another webhook's request. */
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

/** With its payload and attempts. Throws `not_found`, also for another webhook's request. */
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

/** The octets that every attempt sends, as text. Throws `not_found`. */
export async function getRequestBody(db: Database, tenant: Tenant, webhookId: string, id: string): Promise<string> {
  return (await readBody(db, await getRequestRow(db, tenant, webhookId, id))).toString()
}

/** How many attempts of each of these requests were made, manual retries included. */
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

/** The schedule has ten, probes and manual retries add some; beyond this the oldest are left out. */
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
