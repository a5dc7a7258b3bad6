import type { Selectable } from 'kysely'
import type { Database } from '../database/database.ts'
import { deleteEach, isOneOf } from '../database/each.ts'
import type { WebhookRequestsTable } from '../database/schema.ts'
import type { Seal } from '../seal.ts'
import type { AttemptRequest } from './attempt.ts'
import type { RequestClaim } from './claims.ts'
import type { Standing } from './transition.ts'
import { headersContext, secretContext, type WebhookRow } from './webhook.ts'

/** A request that this process has claimed, with all that is needed to send it and to record what came of it. */
export type ClaimedRequest = {
  claim: RequestClaim
  standing: Standing
  attempts: number
  deliveredAt: number | null
  request: AttemptRequest
}

type Target = Pick<AttemptRequest, 'url' | 'headers' | 'secret' | 'previousSecret'>

const TARGET = ['id', 'url', 'secret', 'previous_secret', 'previous_secret_until', 'headers'] as const
type TargetRow = Pick<WebhookRow, (typeof TARGET)[number]>

const REQUEST = ['id', 'body', 'status', 'attempts', 'retries', 'delivered_at', 'next_attempt_at'] as const
type RequestRow = Omit<Pick<Selectable<WebhookRequestsTable>, (typeof REQUEST)[number]>, 'body'> & { octets: number }

/** What claimed requests are to send, and where, as it stands in the database. */
export type ReadClaims = {
  requests: { claim: RequestClaim; row: RequestRow }[]
  /** In the order of the requests, one after the other: many small ones take longer from thread to thread. */
  bodies: Uint8Array
  targets: TargetRow[]
}

/** A request that is gone, or whose webhook is, leaves the queue. */
export async function readClaimed(db: Database, claims: readonly RequestClaim[]): Promise<ReadClaims> {
  if (claims.length === 0) return { requests: [], bodies: new Uint8Array(), targets: [] }
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
  const bodies: Uint8Array[] = []
  const requests = claims.flatMap((claim) => {
    const found = byId.get(claim.request_id)
    if (!found || !known.has(claim.webhook_id)) {
      gone.push(claim)
      return []
    }
    const { body, ...row } = found
    bodies.push(body)
    return [{ claim, row: { ...row, octets: body.byteLength } }]
  })
  await deleteEach(db, { table: 'due_requests', key: { webhook_id: 'text', request_id: 'text' } }, gone)
  return { requests, bodies: Buffer.concat(bodies), targets }
}

/** The same with secrets in the clear, ready to be sent. */
export function opened({ requests, bodies, targets }: ReadClaims, seal: Seal, now: number): ClaimedRequest[] {
  const byId = new Map(targets.map((row) => [row.id, targetOf(row, seal, now)]))
  let at = 0
  return requests.map(({ claim, row }) => {
    const { id, status, retries, attempts, octets } = row
    const standing = { requestId: id, isTest: isTestId(id), status, retries, nextAttemptAt: row.next_attempt_at }
    // A copy: a request that hangs must not keep the bodies of all the others in memory.
    const body = Buffer.from(bodies.subarray(at, at + octets))
    at += octets
    return {
      claim,
      standing,
      attempts,
      deliveredAt: row.delivered_at,
      request: { id, body, ...byId.get(claim.webhook_id)! },
    }
  })
}

/** Requests of tests tell themselves apart by their ids, also to receivers. */
export const isTestId = (requestId: string): boolean => requestId.startsWith('req_test_')

function targetOf({ id, url, secret, headers, ...row }: TargetRow, seal: Seal, now: number): Target {
  const hasGrace = row.previous_secret !== null && (row.previous_secret_until ?? 0) > now
  return {
    url,
    headers: JSON.parse(seal.open(headers, headersContext(id))),
    secret: seal.open(secret, secretContext(id)),
    previousSecret: hasGrace && row.previous_secret ? seal.open(row.previous_secret, secretContext(id)) : undefined,
  }
}
