import type { Selectable } from 'kysely'
import type { Tenant } from '../context.ts'
import type { Database } from '../database/database.ts'
import { LEASE_MS } from '../database/lease-queue.ts'
import type { DueRequestsTable } from '../database/schema-webhooks.ts'

/** A webhook's requests, as the dispatcher sees them when it looks: a queue of its own. */
export type EndpointQueue = {
  webhook_id: string
  is_active: 0 | 1
  state: 'active' | 'paused'
  /** When a paused webhook is probed next. */
  probe_at: number | null
  /** What was kept during a pause is sent in the order of its ids: those after the first, up to the second. */
  drain_after: string | null
  drain_to: string | null
}

/** What may be claimed of a queue. Manual retries always may. */
export type Mode =
  /** What is due. */
  | { kind: 'open' }
  /** What was kept, oldest first. */
  | { kind: 'drain'; after: string; to: string }
  /** The oldest kept request, to see whether the receiver is back. */
  | { kind: 'probe' }
  /** Nothing. */
  | { kind: 'shut' }

export function modeOf({ is_active, state, probe_at, drain_after, drain_to }: EndpointQueue, now: number): Mode {
  if (is_active === 0) return { kind: 'shut' }
  if (state === 'paused') return { kind: (probe_at ?? now) <= now ? 'probe' : 'shut' }
  if (drain_after !== null && drain_to !== null) return { kind: 'drain', after: drain_after, to: drain_to }
  return { kind: 'open' }
}

/** When each request will be attempted next; one that is not listed, never. */
export type NextAttempts = ReadonlyMap<string, number | null>

export async function readNextAttempts(
  db: Database,
  { organizationId }: Tenant,
  requests: readonly { id: string; webhook_id: string }[],
  now: number,
): Promise<NextAttempts> {
  if (requests.length === 0) return new Map()
  const webhookIds = [...new Set(requests.map(({ webhook_id }) => webhook_id))]
  const queues = await db
    .selectFrom('due_webhooks')
    .innerJoin('webhooks', 'webhooks.id', 'due_webhooks.webhook_id')
    .select(['webhook_id', 'is_active', 'state', 'probe_at', 'drain_after', 'drain_to'])
    .where('organization_id', '=', organizationId)
    .where('webhook_id', 'in', webhookIds)
    .execute()
  const waiting = await db
    .selectFrom('due_requests')
    .selectAll()
    .where('webhook_id', 'in', webhookIds)
    .where(
      'request_id',
      'in',
      requests.map(({ id }) => id),
    )
    .execute()
  const byWebhook = new Map(queues.map((queue) => [queue.webhook_id, queue]))
  const known = waiting.filter(({ webhook_id }) => byWebhook.has(webhook_id))
  return new Map(known.map((row) => [row.request_id, nextAttemptOf(row, byWebhook.get(row.webhook_id)!, now)]))
}

/**
 * The instant of the next attempt, in the past for one that is in progress or as soon as there is capacity; null while the
 * webhook is paused or disabled, where nobody knows. Pure.
 */
function nextAttemptOf(waiting: Selectable<DueRequestsTable>, queue: EndpointQueue, now: number): number | null {
  const { due_at, claimed_by, is_manual, request_id } = waiting
  if (due_at === null) return null
  if (claimed_by !== null && due_at > now) return due_at - LEASE_MS
  if (is_manual === 1) return due_at
  const mode = modeOf(queue, now)
  switch (mode.kind) {
    case 'open':
      return due_at
    case 'drain':
      return request_id > mode.after && request_id <= mode.to ? Math.min(due_at, now) : due_at
    case 'probe':
    case 'shut':
      return null
  }
}
