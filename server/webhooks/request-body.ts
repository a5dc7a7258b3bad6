import { type Selectable, sql } from 'kysely'
import type { Tenant } from '../context.ts'
import { isOneOf, type TenantId } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import type { WebhookRequestsTable } from '../database/schema-webhooks.ts'
import { joinBody } from './payload.ts'

/** A request body as stored. All requests for an event share the bytes of the event. */
export type StoredBody = { body: Buffer; eventOffset: number | null; event: Buffer | undefined }

/** The bytes to send. */
export function requestBody({ body, eventOffset, event }: StoredBody): Buffer {
  if (eventOffset === null) return body
  if (event === undefined) throw new Error('The payload of the event is missing from the database.')
  return joinBody({ body, eventOffset }, event)
}

/** Reads the body of a request that is not claimed. */
export async function readBody(
  db: Database,
  row: Pick<Selectable<WebhookRequestsTable>, 'organization_id' | 'body' | 'event_offset' | 'event_id'>,
): Promise<Buffer> {
  const { organization_id: organizationId, body, event_offset, event_id } = row
  const [event] = event_offset === null ? [] : await readEventBodies(db, [{ organizationId, id: event_id! }])
  return requestBody({ body: Buffer.from(body), eventOffset: event_offset, event: event && Buffer.from(event.octets) })
}

/** Bodies of events that several requests share. */
export async function readEventBodies(db: Database, events: readonly TenantId[]) {
  if (events.length === 0) return []
  const organizations = [...new Set(events.map(({ organizationId }) => organizationId))]
  return await db
    .selectFrom('event_bodies')
    .select(['event_id', 'octets'])
    .where(isOneOf(db, 'organization_id', organizations))
    .where(isOneOf(db, 'event_id', [...new Set(events.map(({ id }) => id))]))
    .execute()
}

/** Subtracts from the use counts of event bodies, and deletes unused ones. Returns the freed bytes as negative numbers. */
export async function releaseEventBodies(
  db: Database,
  { organizationId }: Tenant,
  uses: ReadonlyMap<string, number>,
): Promise<(readonly [organizationId: string, bytes: number])[]> {
  if (uses.size === 0) return []
  for (const [id, count] of [...uses].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    await sql`update event_bodies set requests = requests - ${count}
      where organization_id = ${organizationId} and event_id = ${id}`.execute(db)
  }
  const gone = await db
    .deleteFrom('event_bodies')
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'event_id', [...uses.keys()]))
    .where('requests', '<=', 0)
    .returning(sql<number>`length(octets)`.as('bytes'))
    .execute()
  return gone.map(({ bytes }) => [organizationId, -Number(bytes)] as const)
}
