import type { Selectable } from 'kysely'
import { deleteEach, isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import type { WebhookRequestsTable } from '../database/schema-webhooks.ts'
import type { Seal } from '../seal.ts'
import type { RequestClaim } from './claims.ts'
import { joinedBody } from './payload.ts'
import { TARGET, type Target, type TargetRow, targetOf } from './targets.ts'
import type { AttemptedRequest } from './transition.ts'

/** A request that this process has claimed, with all that is needed to send it and to record the result. */
export type ClaimedRequest = {
  claim: RequestClaim
  organizationId: string
  standing: AttemptedRequest
  attempts: number
  deliveredAt: number | null
  /** As it was when it was claimed; it is read again before it is used. */
  target: Target
  stored: StoredBody
}

/** The octets of a request as they are stored; those of its event are shared by all requests that carry it. */
export type StoredBody = { body: Buffer; eventAt: number | null; event: Buffer | undefined }

const REQUEST = [
  'id',
  'organization_id',
  'event_id',
  'event_at',
  'body',
  'status',
  'attempts',
  'retries',
  'delivered_at',
  'next_attempt_at',
] as const
type RequestRow = Pick<Selectable<WebhookRequestsTable>, (typeof REQUEST)[number]>

/** What claimed requests are to send, and where, as it is in the database. */
export type ReadClaims = {
  requests: { claim: RequestClaim; row: RequestRow }[]
  events: { event_id: string; octets: Uint8Array }[]
  targets: TargetRow[]
}

/** A request that is gone, or whose webhook is, leaves the queue. */
export async function readClaimed(db: Database, claims: readonly RequestClaim[]): Promise<ReadClaims> {
  if (claims.length === 0) return { requests: [], events: [], targets: [] }
  const webhookIds = [...new Set(claims.map(({ webhook_id }) => webhook_id))]
  const targets = await db
    .selectFrom('webhooks')
    .select(TARGET)
    .where(isOneOf(db, 'id', webhookIds))
    .execute()
  const requestIds = claims.map(({ request_id }) => request_id)
  const rows = await db
    .selectFrom('webhook_requests')
    .select(REQUEST)
    .where(isOneOf(db, 'id', requestIds))
    .execute()
  const byId = new Map(rows.map((row) => [row.id, row]))
  const known = new Set(targets.map(({ id }) => id))
  const gone: RequestClaim[] = []
  const requests = claims.flatMap((claim) => {
    const row = byId.get(claim.request_id)
    if (row && known.has(claim.webhook_id)) return [{ claim, row }]
    gone.push(claim)
    return []
  })
  await deleteEach(db, { table: 'due_requests', key: { webhook_id: 'text', request_id: 'text' } }, gone)
  const eventIds = requests.flatMap(({ row }) => (row.event_at === null ? [] : [row.event_id!]))
  return { requests, events: await readEventBodies(db, [...new Set(eventIds)]), targets }
}

/** Of events that several requests share. */
export async function readEventBodies(db: Database, ids: readonly string[]) {
  if (ids.length === 0) return []
  return await db
    .selectFrom('event_bodies')
    .select(['event_id', 'octets'])
    .where(isOneOf(db, 'event_id', ids))
    .execute()
}

/** The same with secrets in the clear, ready to be sent. */
export function opened({ requests, events, targets }: ReadClaims, seal: Seal): ClaimedRequest[] {
  const byId = new Map(targets.map((row) => [row.id, targetOf(row, seal)]))
  // Copies: a request that hangs must not keep the answer of the database, with the bodies of all others, in memory.
  const byEvent = new Map(events.map(({ event_id, octets }) => [event_id, Buffer.from(octets)]))
  return requests.map(({ claim, row }) => {
    const { id, status, retries, attempts, body, event_at: eventAt } = row
    const event = eventAt === null ? undefined : byEvent.get(row.event_id!)
    return {
      claim,
      organizationId: row.organization_id,
      standing: { requestId: id, isTest: isTestId(id), status, retries, nextAttemptAt: row.next_attempt_at },
      attempts,
      deliveredAt: row.delivered_at,
      target: byId.get(claim.webhook_id)!,
      stored: { body: Buffer.from(body), eventAt, event },
    }
  })
}

/** The octets that are sent. */
export function bodyOf({ body, eventAt, event }: StoredBody): Buffer {
  if (eventAt === null) return body
  if (event === undefined) throw new Error('The payload of the event is missing from the database.')
  return joinedBody({ body, eventAt }, event)
}

/** What a request sends, for anyone who shows it. */
export async function readBody(
  db: Database,
  { body, event_at, event_id }: Pick<Selectable<WebhookRequestsTable>, 'body' | 'event_at' | 'event_id'>,
): Promise<Buffer> {
  const [event] = event_at === null ? [] : await readEventBodies(db, [event_id!])
  return bodyOf({ body: Buffer.from(body), eventAt: event_at, event: event && Buffer.from(event.octets) })
}

/** Requests of tests tell themselves apart by their ids, also to receivers. */
const isTestId = (requestId: string): boolean => requestId.startsWith('req_test_')
