import type { ZoneDelivery } from '#contract/zone-delivery.ts'
import type { Tenant } from '../context.ts'
import type { Database } from '../database/database.ts'
import { conflict } from '../problem.ts'
import { insertQueued, newRequest, storedBytesOf } from './new-requests.ts'
import { countStored } from './storage-usage.ts'

/** What a look at a zone changed, as webhooks receive it. */
export type ZoneReport = Pick<ZoneDelivery, 'zone' | 'zone_events'>

/** Of an organization. A look writes a request for each, in one transaction. */
const MAX_WEBHOOKS = 50

/** Call it with the links of the organization locked, before a webhook begins to receive events of zones. Throws 409 at the limit. */
export async function refuseTooManyOfZones(db: Database, { organizationId }: Tenant): Promise<void> {
  const rows = await receivers(db, organizationId)
  if (rows.length >= MAX_WEBHOOKS)
    throw conflict(
      `At most ${MAX_WEBHOOKS} webhooks of an organization receive events of zones.`,
      undefined,
      'limit_reached',
    )
}

/**
 * Writes one request for each enabled webhook with `zone_events`, in the transaction that writes the events. They are signed, retried
 * and kept as all others, and never part of a batch.
 */
export async function insertZoneRequests(
  db: Database,
  { organizationId }: Tenant,
  report: ZoneReport,
  now: number,
): Promise<void> {
  if (report.zone_events.length === 0) return
  const active = (await receivers(db, organizationId)).filter(({ is_active }) => is_active === 1)
  const requests = active.map(({ id: webhookId }) => {
    const eventId = report.zone_events[0]!.id
    const request = newRequest({ organizationId, webhookId, eventId, monitorId: null }, now)
    const created = new Date(now).toISOString()
    const delivery: ZoneDelivery = { id: request.id, webhook_id: webhookId, ...report, created }
    return { ...request, body: Buffer.from(JSON.stringify(delivery)), event_offset: null }
  })
  if (requests.length === 0) return
  await insertQueued(db, { requests, batchedEvents: [] }, now)
  await countStored(db, storedBytesOf(requests))
}

const receivers = (db: Database, organizationId: string) =>
  db
    .selectFrom('webhooks')
    .select(['id', 'is_active'])
    .where('organization_id', '=', organizationId)
    .where('zone_events', '=', 1)
    .orderBy('id')
    .execute()
