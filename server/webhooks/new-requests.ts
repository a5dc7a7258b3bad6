import { sql } from 'kysely'
import { differenceOf } from '#contract/difference.ts'
import type { Event } from '#contract/events.ts'
import { shown, type VerdictReason } from '#contract/reasons.ts'
import type { PayloadInclude, PayloadMonitor } from '#contract/webhooks.ts'
import type { Tenant } from '../context.ts'
import { insertEach, isOneOf } from '../database/bulk.ts'
import { type Database, inTransaction } from '../database/database.ts'
import type { Bool } from '../database/schema.ts'
import { newId } from '../ids.ts'
import { makeWebhooksDue } from './due-webhooks.ts'
import { batchedEventJson, eventJson, joinBody, newBatchBody, newEnvelope, newPayload } from './payload.ts'
import { countStored, REQUEST_BYTES } from './storage-usage.ts'

/** An event as webhooks receive it, with its organization and group. */
export type ReportedEvent = { organizationId: string; groupId: string; event: Event }

/** Requests that one event, and all events together, write in their transaction. The fan-out writes the others. */
const MAX_REQUESTS_PER_EVENT = 50
const MAX_REQUESTS_PER_TRANSACTION = 500

/**
 * Writes the requests for the enabled webhooks of the events' groups, due now, in the transaction that writes the events. Beyond
 * the limits above it writes rows of `fan_outs` instead (`deferred-fan-out.ts`), and for webhooks with `batch` rows of `batched_events`
 * (`batches.ts`).
 */
export async function insertRequests(
  db: Database,
  reported: readonly ReportedEvent[],
  now: number,
  describe: DescribeMonitors = async () => new Map(),
): Promise<void> {
  if (reported.length === 0) return
  const webhooks = await readReceivers(
    db,
    new Map(reported.map(({ groupId, organizationId }) => [groupId, organizationId])),
  )
  const isDescribed = (groupId: string) => (webhooks.get(groupId) ?? []).some(({ includes }) => includes.length > 0)
  const described = reported.filter(({ groupId }) => isDescribed(groupId))
  const monitors = new Map<string, PayloadMonitor>()
  for (const [organizationId, own] of Map.groupBy(described, (report) => report.organizationId)) {
    const ids = own.map(({ event }) => event.monitor_id)
    for (const [id, monitor] of await describe(db, { organizationId }, ids)) monitors.set(id, monitor)
  }
  const rows: NewRequest[] = []
  const batchedEvents: BatchedEvent[] = []
  const bodies: { event_id: string; organization_id: string; octets: Buffer; requests: number }[] = []
  const fanOuts: FanOut[] = []
  for (const { organizationId, groupId, event } of reported) {
    const receivers = webhooks.get(groupId) ?? []
    if (receivers.length === 0) continue
    const included = receivers.slice(
      0,
      Math.min(MAX_REQUESTS_PER_EVENT, MAX_REQUESTS_PER_TRANSACTION - rows.length - batchedEvents.length),
    )
    const isAll = included.length === receivers.length
    const ids = { organizationId, eventId: event.id, monitorId: event.monitor_id }
    const monitor = monitors.get(event.monitor_id)
    const inputFor = ({ id, includes }: Receiver) => ({
      ...ids,
      webhookId: id,
      monitor: pickIncludes(monitor, includes),
    })
    const eventBytes = eventJson(event)
    const single = included.filter(({ isBatched }) => !isBatched)
    for (const webhook of included)
      if (webhook.isBatched) batchedEvents.push(newBatchedEvent(inputFor(webhook), eventBytes, now))
    if (single.length === 1 && isAll) {
      // Most events have one request. It contains the whole event, which saves a row and its lookup.
      rows.push(newRequestWithEvent(inputFor(single[0]!), eventBytes, now))
      continue
    }
    rows.push(...single.map((webhook) => newRequest(inputFor(webhook), now)))
    const requests = single.length + (isAll ? 0 : 1)
    if (requests > 0) bodies.push({ event_id: event.id, organization_id: organizationId, octets: eventBytes, requests })
    if (!isAll) fanOuts.push({ ...ids, webhooks: receivers.slice(included.length).map(({ id }) => id), monitor })
  }
  await insertEach(db, 'event_bodies', EVENT_BODY_COLUMNS, bodies)
  await insertEach(db, 'fan_outs', FAN_OUT_COLUMNS, fanOuts.map(fanOutRow))
  await insertQueued(db, { requests: rows, batchedEvents }, now)
  const stored = bodies.map(({ organization_id, octets }) => [organization_id, octets.byteLength] as const)
  await countStored(db, [...stored, ...storedBytesOf(rows)])
}

/** Reads the fields that `payload_includes` can add, by the ids of the monitors. */
export type DescribeMonitors = (
  db: Database,
  tenant: Tenant,
  monitorIds: readonly string[],
) => Promise<Map<string, PayloadMonitor>>

/** `isBatched`: it receives several events in one request. */
export type Receiver = { id: string; includes: PayloadInclude[]; isBatched: boolean }

/** The fields in `payload_includes`; undefined without any, so that the payload has no `monitor`. */
export function pickIncludes(
  monitor: PayloadMonitor | undefined,
  includes: readonly PayloadInclude[],
): Partial<PayloadMonitor> | undefined {
  if (includes.length === 0 || !monitor) return undefined
  return Object.fromEntries(includes.map((name) => [name, monitor[name]]))
}

export const RECEIVER_COLUMNS = ['payload_includes', 'batch_max_events'] as const

export const toReceiver = (row: {
  id: string
  payload_includes: string
  batch_max_events: number | null
}): Receiver => ({
  id: row.id,
  includes: row.payload_includes === '[]' ? [] : JSON.parse(row.payload_includes),
  isBatched: row.batch_max_events !== null,
})

/** The enabled webhooks of each group and those of all groups, ordered by id. `groups`: organization by group id. */
async function readReceivers(
  db: Database,
  groups: ReadonlyMap<string, string>,
): Promise<Map<string, readonly Receiver[]>> {
  const organizations = [...new Set(groups.values())]
  const linked = await db
    .selectFrom('group_webhooks')
    .innerJoin('webhooks', (join) =>
      join
        .onRef('webhooks.organization_id', '=', 'group_webhooks.organization_id')
        .onRef('webhooks.id', '=', 'group_webhooks.webhook_id'),
    )
    .select(['group_id', 'webhook_id as id', ...RECEIVER_COLUMNS])
    .where(isOneOf(db, 'group_webhooks.organization_id', organizations))
    .where(isOneOf(db, 'group_id', [...groups.keys()]))
    .where('is_active', '=', 1)
    .where('all_groups', '=', 0)
    .orderBy('webhook_id')
    .execute()
  const ofAll = await db
    .selectFrom('webhooks')
    .select(['organization_id', 'id', ...RECEIVER_COLUMNS])
    .where(isOneOf(db, 'organization_id', organizations))
    .where('all_groups', '=', sql.lit(1))
    .where('is_active', '=', 1)
    .orderBy('id')
    .execute()
  const byGroup = Map.groupBy(linked, ({ group_id }) => group_id)
  const byOrganization = Map.groupBy(ofAll, ({ organization_id }) => organization_id)
  return new Map(
    [...groups].map(([groupId, organizationId]) => {
      const webhooks = [...(byGroup.get(groupId) ?? []), ...(byOrganization.get(organizationId) ?? [])]
      return [groupId, webhooks.sort((a, b) => (a.id < b.id ? -1 : 1)).map(toReceiver)]
    }),
  )
}

/**
 * Writes a request with an example change, which is sent once, whatever the state of the webhook. Returns its id. The ids
 * contain `_test_`, so that receivers recognize it.
 */
export async function insertTest(
  db: Database,
  { organizationId, id: webhookId, includes, isBatched }: Receiver & { organizationId: string },
  now: number,
): Promise<string> {
  const testId = (prefix: 'req' | 'evt' | 'mon') => newId(prefix, now).replace('_', '_test_')
  const event: Event = {
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
  const monitor = pickIncludes(TEST_MONITOR, includes)
  const request = { requestId: id, webhookId, createdAt: now }
  const events = [batchedEventJson(eventJson(event), monitor)]
  const testRequest: NewRequest = {
    ...newRequest({ organizationId, webhookId, eventId: null, monitorId: null }, now),
    id,
    request_id: id,
    body: isBatched ? newBatchBody({ ...request, events }) : newPayload({ ...request, event, monitor }),
    event_offset: null,
    is_manual: 1,
    events: isBatched ? 1 : null,
  }
  await inTransaction(db, async (transaction) => {
    await insertQueued(transaction, { requests: [testRequest], batchedEvents: [] }, now)
    await countStored(transaction, storedBytesOf([testRequest]))
  })
  return id
}

const TEST_REASON: VerdictReason = {
  code: 'unexpected_values',
  params: {
    name: 'www.example.com',
    record_type: 'A',
    observed: ['192.0.2.99'],
    matched: [],
    missing: ['192.0.2.1'],
    unexpected: ['192.0.2.99'],
    counts: { observed: 1, matched: 0, missing: 1, unexpected: 1 },
    record: { name: 'www.example.com', type: 'A' },
  },
}
const TEST_MONITOR: PayloadMonitor = {
  external_id: null,
  tags: [],
  metadata: {},
  group: { id: 'grp_test_00000000000000000000000000', slug: 'test', name: 'Test', external_id: null },
  reason: shown(TEST_REASON),
  difference: differenceOf(TEST_REASON),
  setup_page: null,
}

type RequestInput = {
  organizationId: string
  webhookId: string
  eventId: string | null
  monitorId: string | null
  monitor?: Partial<PayloadMonitor> | undefined
}

export function newRequest({ organizationId, webhookId, eventId, monitorId, monitor }: RequestInput, now: number) {
  const id = newId('req', now)
  const { body, eventOffset } = newEnvelope({ requestId: id, webhookId, createdAt: now, monitor })
  return {
    id,
    organization_id: organizationId,
    webhook_id: webhookId,
    event_id: eventId,
    monitor_id: monitorId,
    created_at: now,
    body,
    event_offset: eventOffset as number | null,
    status: 'PENDING' as const,
    next_attempt_at: now,
    request_id: id,
    due_at: now,
    is_manual: 0 as Bool,
    events: null as number | null,
  }
}

function newRequestWithEvent(input: RequestInput, eventBytes: Buffer, now: number): NewRequest {
  const request = newRequest(input, now)
  const envelope = { body: request.body, eventOffset: request.event_offset! }
  return { ...request, body: joinBody(envelope, eventBytes), event_offset: null }
}

/** `events`: as returned by `batchedEventJson`. `eventId`: that of the first event. */
export function newBatchRequest(
  { events, ...input }: Omit<RequestInput, 'monitor' | 'monitorId'> & { events: readonly Buffer[] },
  now: number,
): NewRequest {
  const request = newRequest({ ...input, monitorId: null }, now)
  const body = newBatchBody({ requestId: request.id, webhookId: input.webhookId, events, createdAt: now })
  return { ...request, body, event_offset: null, events: events.length }
}

export function newBatchedEvent(
  { organizationId, webhookId, eventId, monitorId, monitor }: RequestInput,
  eventBytes: Uint8Array,
  now: number,
): BatchedEvent {
  const ids = { organization_id: organizationId, webhook_id: webhookId, event_id: eventId!, monitor_id: monitorId! }
  return { ...ids, added_at: now, octets: batchedEventJson(eventBytes, monitor) }
}

export type NewRequest = ReturnType<typeof newRequest>

type BatchedEvent = {
  organization_id: string
  webhook_id: string
  event_id: string
  monitor_id: string
  added_at: number
  octets: Buffer
}

/** `batchedEvents`: events for the next batch. */
export async function insertQueued(
  db: Database,
  { requests, batchedEvents }: { requests: readonly NewRequest[]; batchedEvents: readonly BatchedEvent[] },
  now: number,
): Promise<void> {
  await insertEach(db, 'webhook_requests', REQUEST_COLUMNS, requests)
  await insertEach(db, 'due_requests', DUE_COLUMNS, requests)
  await insertEach(db, 'batched_events', BATCHED_EVENT_COLUMNS, batchedEvents)
  await makeWebhooksDue(db, [...new Set([...requests, ...batchedEvents].map(({ webhook_id }) => webhook_id))], now)
}

export const storedBytesOf = (rows: readonly NewRequest[]) =>
  rows.map(({ organization_id, body }) => [organization_id, REQUEST_BYTES + body.byteLength] as const)

const REQUEST_COLUMNS = {
  id: 'text',
  organization_id: 'text',
  webhook_id: 'text',
  event_id: 'text',
  monitor_id: 'text',
  created_at: 'bigint',
  body: 'bytea',
  event_offset: 'bigint',
  status: 'text',
  next_attempt_at: 'bigint',
  events: 'bigint',
} as const

const BATCHED_EVENT_COLUMNS = {
  organization_id: 'text',
  webhook_id: 'text',
  event_id: 'text',
  monitor_id: 'text',
  added_at: 'bigint',
  octets: 'bytea',
} as const

const DUE_COLUMNS = { webhook_id: 'text', request_id: 'text', due_at: 'bigint', is_manual: 'bigint' } as const

const EVENT_BODY_COLUMNS = { event_id: 'text', organization_id: 'text', octets: 'bytea', requests: 'bigint' } as const

/** An event and the webhooks for which its requests are still to be written. */
type FanOut = {
  organizationId: string
  eventId: string
  monitorId: string
  webhooks: readonly string[]
  monitor: PayloadMonitor | undefined
}

const FAN_OUT_COLUMNS = {
  organization_id: 'text',
  event_id: 'text',
  monitor_id: 'text',
  webhooks: 'text',
  after_webhook: 'text',
  monitor: 'text',
} as const

const fanOutRow = ({ organizationId, eventId, monitorId, webhooks, monitor }: FanOut) => ({
  organization_id: organizationId,
  event_id: eventId,
  monitor_id: monitorId,
  webhooks: JSON.stringify(webhooks),
  after_webhook: '',
  monitor: monitor ? JSON.stringify(monitor) : null,
})
