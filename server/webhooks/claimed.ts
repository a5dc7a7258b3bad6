import type { Database } from '../database/database.ts'
import { deleteEach, isOneOf } from '../database/each.ts'
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

/** Reads what claimed requests are to send, and where. One that is gone, or whose webhook is, leaves the queue. */
export async function readClaimed(
  db: Database,
  seal: Seal,
  claims: readonly RequestClaim[],
  now: number,
): Promise<ClaimedRequest[]> {
  if (claims.length === 0) return []
  const targets = await readTargets(db, seal, [...new Set(claims.map(({ webhook_id }) => webhook_id))], now)
  const rows = await db
    .selectFrom('webhook_requests')
    .select(['id', 'body', 'status', 'attempts', 'retries', 'delivered_at', 'next_attempt_at'])
    .where(
      isOneOf(
        db,
        'id',
        claims.map(({ request_id }) => request_id),
      ),
    )
    .execute()
  const byId = new Map(rows.map((row) => [row.id, row]))
  const gone: RequestClaim[] = []
  const claimed = claims.flatMap((claim): ClaimedRequest[] => {
    const row = byId.get(claim.request_id)
    const target = targets.get(claim.webhook_id)
    if (!row || !target) {
      gone.push(claim)
      return []
    }
    const { id, status, retries, attempts } = row
    const standing = { requestId: id, isTest: isTestId(id), status, retries, nextAttemptAt: row.next_attempt_at }
    const body = Buffer.from(row.body.buffer, row.body.byteOffset, row.body.byteLength)
    return [{ claim, standing, attempts, deliveredAt: row.delivered_at, request: { id, body, ...target } }]
  })
  await deleteEach(db, { table: 'due_requests', key: { webhook_id: 'text', request_id: 'text' } }, gone)
  return claimed
}

/** Requests of tests tell themselves apart by their ids, also to receivers. */
export const isTestId = (requestId: string): boolean => requestId.startsWith('req_test_')

async function readTargets(db: Database, seal: Seal, webhookIds: string[], now: number): Promise<Map<string, Target>> {
  const rows = await db
    .selectFrom('webhooks')
    .select(['id', 'url', 'secret', 'previous_secret', 'previous_secret_until', 'headers'])
    .where(isOneOf(db, 'id', webhookIds))
    .execute()
  return new Map(rows.map((row) => [row.id, targetOf(row, seal, now)]))
}

type Row = Pick<WebhookRow, 'id' | 'url' | 'secret' | 'previous_secret' | 'previous_secret_until' | 'headers'>

function targetOf({ id, url, secret, headers, ...row }: Row, seal: Seal, now: number): Target {
  const hasGrace = row.previous_secret !== null && (row.previous_secret_until ?? 0) > now
  return {
    url,
    headers: JSON.parse(seal.open(headers, headersContext(id))),
    secret: seal.open(secret, secretContext(id)),
    previousSecret: hasGrace && row.previous_secret ? seal.open(row.previous_secret, secretContext(id)) : undefined,
  }
}
