import type { Selectable } from 'kysely'
import type { Database } from '../database/database.ts'
import { LEASE_MS } from '../database/lease-queue.ts'
import type { DueRequestsTable } from '../database/schema.ts'
import { type EndpointQueue, modeOf } from './queue-mode.ts'

/** When each request will be attempted next; one that is not listed, never. */
export type NextAttempts = ReadonlyMap<string, number | null>

export async function readNextAttempts(
  db: Database,
  webhookId: string,
  requestIds: readonly string[],
  now: number,
): Promise<NextAttempts> {
  if (requestIds.length === 0) return new Map()
  const queue = await db
    .selectFrom('due_webhooks')
    .innerJoin('webhooks', 'webhooks.id', 'due_webhooks.webhook_id')
    .select(['webhook_id', 'is_active', 'state', 'probe_at', 'drain_after', 'drain_to'])
    .where('webhook_id', '=', webhookId)
    .executeTakeFirst()
  const waiting = await db
    .selectFrom('due_requests')
    .selectAll()
    .where('webhook_id', '=', webhookId)
    .where('request_id', 'in', requestIds)
    .execute()
  return new Map(queue ? waiting.map((row) => [row.request_id, nextAttemptOf(row, queue, now)]) : [])
}

/**
 * The instant of the next attempt, in the past for one that is under way or as soon as there is capacity; null while the
 * webhook is paused or disabled, where nobody knows. Pure.
 */
export function nextAttemptOf(waiting: Selectable<DueRequestsTable>, queue: EndpointQueue, now: number): number | null {
  const { due_at, claimed_by, by_hand, request_id } = waiting
  if (due_at === null) return null
  if (claimed_by !== null && due_at > now) return due_at - LEASE_MS
  if (by_hand === 1) return due_at
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
