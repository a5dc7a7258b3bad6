import { type Database, inTransaction } from '../database/database.ts'
import { insertEach } from '../database/each.ts'
import { newId } from '../ids.ts'
import { type EventPayload, newPayload } from './payload.ts'
import { lookSoon } from './states.ts'

/** An event in its form on the wire, and whose it is. */
export type Reported = { organizationId: string; groupId: string; event: EventPayload }

/**
 * Writes what each webhook of the events' groups is to be sent, in the transaction that writes the events, and makes it due
 * at once. A paused webhook's requests are kept until it is active again; one that is disabled gets none.
 */
export async function insertRequests(db: Database, reported: readonly Reported[], now: number): Promise<void> {
  if (reported.length === 0) return
  const links = await db
    .selectFrom('group_webhooks')
    .innerJoin('webhooks', 'webhooks.id', 'group_webhooks.webhook_id')
    .select(['group_webhooks.group_id', 'webhooks.id'])
    .where('group_webhooks.group_id', 'in', [...new Set(reported.map(({ groupId }) => groupId))])
    .where('webhooks.is_active', '=', 1)
    .execute()
  const webhooks = Map.groupBy(links, ({ group_id }) => group_id)
  const rows = reported.flatMap((each) =>
    (webhooks.get(each.groupId) ?? []).map(({ id: webhookId }) =>
      newRequest({ id: newId('req', now), webhookId, ...each }, now),
    ),
  )
  await insertAll(db, rows, now)
}

/**
 * Writes a made-up change that is sent once, whatever the state of the webhook. Returns its id. The ids carry `_test_`, so
 * that receivers can tell it apart.
 */
export async function insertTest(
  db: Database,
  { organizationId, webhookId }: { organizationId: string; webhookId: string },
  now: number,
): Promise<string> {
  const testId = (prefix: 'req' | 'evt' | 'mon') => newId(prefix, now).replace('_', '_test_')
  const event: EventPayload = {
    id: testId('evt'),
    monitor_id: testId('mon'),
    occurred: new Date(now).toISOString(),
    previous_value: ['192.0.2.1'],
    current_value: ['192.0.2.99'],
    old_state: 'VALID',
    new_state: 'MISMATCH',
    incidence_count: 1,
    domain: {
      domain: 'example.com',
      subdomain: 'www',
      record_type: 'A',
      expected_value: ['192.0.2.1'],
      is_exact_match: true,
    },
  }
  const id = testId('req')
  const row = newRequest({ id, webhookId, organizationId, event }, now)
  const asked = { ...row, event_id: null, monitor_id: null, by_hand: 1 }
  await inTransaction(db, (transaction) => insertAll(transaction, [asked], now))
  return id
}

type Given = { id: string; webhookId: string; organizationId: string; event: EventPayload }

function newRequest({ id, webhookId, organizationId, event }: Given, now: number) {
  return {
    id,
    organization_id: organizationId,
    webhook_id: webhookId,
    event_id: event.id,
    monitor_id: event.monitor_id,
    created_at: now,
    body: newPayload({ requestId: id, webhookId, event, createdAt: now }),
    status: 'PENDING',
    next_attempt_at: now,
    request_id: id,
    due_at: now,
    by_hand: 0,
  }
}

type NewRow = Omit<ReturnType<typeof newRequest>, 'event_id' | 'monitor_id'> & {
  event_id: string | null
  monitor_id: string | null
}

async function insertAll(db: Database, rows: readonly NewRow[], now: number): Promise<void> {
  for (let from = 0; from < rows.length; from += AT_ONCE) {
    const some = rows.slice(from, from + AT_ONCE)
    await insertEach(db, 'webhook_requests', REQUEST, some)
    await insertEach(db, 'due_requests', DUE, some)
  }
  await lookSoon(db, [...new Set(rows.map(({ webhook_id }) => webhook_id))], now)
}

/** Bounds the memory of one statement; the rows are one transaction's in any case. */
const AT_ONCE = 500

const REQUEST = {
  id: 'text',
  organization_id: 'text',
  webhook_id: 'text',
  event_id: 'text',
  monitor_id: 'text',
  created_at: 'bigint',
  body: 'bytea',
  status: 'text',
  next_attempt_at: 'bigint',
} as const

const DUE = { webhook_id: 'text', request_id: 'text', due_at: 'bigint', by_hand: 'bigint' } as const
