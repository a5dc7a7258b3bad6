import type { Selectable } from 'kysely'
import { deleteEach, isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import type { WebhookRequestsTable } from '../database/schema-webhooks.ts'
import type { Seal } from '../seal.ts'
import type { RequestClaim } from './claims.ts'
import { joinBody } from './payload.ts'
import { TARGET_COLUMNS, type Target, type TargetRow, toTarget } from './targets.ts'
import type { AttemptedRequest } from './transition.ts'

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

/** A request body as stored. All requests for an event share the bytes of the event. */
export type StoredBody = { body: Buffer; eventOffset: number | null; event: Buffer | undefined }

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
export type ClaimRows = {
  requests: { claim: RequestClaim; row: RequestRow }[]
  events: { event_id: string; octets: Uint8Array }[]
  targets: TargetRow[]
}

/** Requests that were deleted, or whose webhook was deleted, leave the queue. */
export async function readClaimRows(db: Database, claims: readonly RequestClaim[]): Promise<ClaimRows> {
  if (claims.length === 0) return { requests: [], events: [], targets: [] }
  const webhookIds = [...new Set(claims.map(({ webhook_id }) => webhook_id))]
  const targets = await db
    .selectFrom('webhooks')
    .select(TARGET_COLUMNS)
    .where(isOneOf(db, 'id', webhookIds))
    .execute()
  const requestIds = claims.map(({ request_id }) => request_id)
  const rows = await db
    .selectFrom('webhook_requests')
    .select(REQUEST_COLUMNS)
    .where(isOneOf(db, 'id', requestIds))
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
  const eventIds = requests.flatMap(({ row }) => (row.event_offset === null ? [] : [row.event_id!]))
  return { requests, events: await readEventBodies(db, [...new Set(eventIds)]), targets }
}

/** Bodies of events that several requests share. */
export async function readEventBodies(db: Database, ids: readonly string[]) {
  if (ids.length === 0) return []
  return await db
    .selectFrom('event_bodies')
    .select(['event_id', 'octets'])
    .where(isOneOf(db, 'event_id', ids))
    .execute()
}

/** Decrypts the secrets, so that the requests can be sent. */
export function openClaims({ requests, events, targets }: ClaimRows, seal: Seal): ClaimedRequest[] {
  const byId = new Map(targets.map((row) => [row.id, toTarget(row, seal)]))
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

/** The bytes to send. */
export function requestBody({ body, eventOffset, event }: StoredBody): Buffer {
  if (eventOffset === null) return body
  if (event === undefined) throw new Error('The payload of the event is missing from the database.')
  return joinBody({ body, eventOffset }, event)
}

/** Reads the body of a request that is not claimed. */
export async function readBody(
  db: Database,
  { body, event_offset, event_id }: Pick<Selectable<WebhookRequestsTable>, 'body' | 'event_offset' | 'event_id'>,
): Promise<Buffer> {
  const [event] = event_offset === null ? [] : await readEventBodies(db, [event_id!])
  return requestBody({ body: Buffer.from(body), eventOffset: event_offset, event: event && Buffer.from(event.octets) })
}

/** The ids of test requests carry `test`, so that receivers recognize them, too. */
const isTestId = (requestId: string): boolean => requestId.startsWith('req_test_')
