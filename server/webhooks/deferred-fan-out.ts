import { type Selectable, sql } from 'kysely'
import type { PayloadMonitor } from '#contract/webhooks.ts'
import type { Tenant } from '../context.ts'
import { deleteEach, isOneOf, updateEach } from '../database/bulk.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { skipLocked } from '../database/dialect.ts'
import type { FanOutsTable } from '../database/schema-webhooks.ts'
import {
  insertQueued,
  newBatchedEvent,
  newRequest,
  pickIncludes,
  RECEIVER_COLUMNS,
  type Receiver,
  storedBytesOf,
  toReceiver,
} from './new-requests.ts'
import { readEventBodies, releaseEventBodies } from './request-body.ts'
import { countStored } from './storage-usage.ts'

/** Requests steps in one transaction, which takes a few milliseconds. */
const REQUEST_BATCH_SIZE = 200
/** Organizations that share a batch, so that a large one does not delay the others. */
const MAX_ORGANIZATIONS = 4
/** Events of one organization in a batch. */
const MAX_EVENTS = 50

/** The last organization of the previous batch: organizations take turns. */
export type FanOutPosition = { after: string }

/**
 * Writes the next batch of the requests that `insertRequests` left to the fan-out, and its progress in the same transaction.
 * Returns the number of requests; undefined if nothing is left.
 */
export async function fanOut(db: Database, position: FanOutPosition, now: number): Promise<number | undefined> {
  const organizations = await nextOrganizations(db, position)
  if (organizations.length === 0) return undefined
  position.after = organizations.at(-1)!
  const limit = Math.floor(REQUEST_BATCH_SIZE / organizations.length)
  let count = 0
  for (const organizationId of organizations) {
    const batch = { organizationId, limit, now }
    count += await inTransaction(db, (transaction) => writeFanOutBatch(transaction, batch))
  }
  return count
}

async function nextOrganizations(db: Database, position: FanOutPosition): Promise<string[]> {
  const organizations: string[] = []
  let { after } = position
  let isFromStart = after === ''
  while (organizations.length < MAX_ORGANIZATIONS) {
    const next = await nextOrganization(db, after)
    if (next !== undefined && !organizations.includes(next)) {
      organizations.push(next)
      after = next
    } else if (next === undefined && !isFromStart) {
      isFromStart = true
      after = ''
    } else return organizations
  }
  return organizations
}

async function nextOrganization(db: Database, after: string): Promise<string | undefined> {
  const { rows } = await sql<{ organization_id: string }>`select organization_id from fan_outs
    where organization_id > ${after} order by organization_id limit 1`.execute(db)
  return rows[0]?.organization_id
}

export async function writeFanOutBatch(
  db: Database,
  { organizationId, limit, now }: Tenant & { limit: number; now: number },
): Promise<number> {
  const steps: FanOutStep[] = []
  let remaining = limit
  for (const row of await lockFanOuts(db, organizationId)) {
    if (remaining === 0) break
    const missing = (JSON.parse(row.webhooks) as string[]).filter((id) => id > row.after_webhook)
    const next = missing.slice(0, remaining)
    const receivers = await readExistingReceivers(db, organizationId, next)
    steps.push({ row, receivers, after: next.at(-1)!, isDone: next.length === missing.length })
    remaining -= next.length
  }
  const requests = steps.flatMap((step) => requestsOf(step, now))
  const batchedEvents = await batchedEventsOf(db, steps, now)
  await writeProgress(db, steps)
  await insertQueued(db, { requests, batchedEvents }, now)
  const done = steps.filter(({ isDone }) => isDone)
  const released = await releaseEventBodies(db, { organizationId }, new Map(done.map(({ row }) => [row.event_id, 1])))
  await countStored(db, [...storedBytesOf(requests), ...released])
  return requests.length + batchedEvents.length
}

type Row = Selectable<FanOutsTable>
/** What a batch writes for one event. */
type FanOutStep = {
  row: Row
  receivers: readonly Receiver[]
  after: string
  isDone: boolean
}

async function lockFanOuts(db: Database, organizationId: string): Promise<Row[]> {
  return await db
    .selectFrom('fan_outs')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .orderBy('event_id')
    .limit(MAX_EVENTS)
    .modifyEnd(skipLocked(db))
    .execute()
}

/** The webhooks of the group at the time of the event, without those deleted since then. */
async function readExistingReceivers(
  db: Database,
  organizationId: string,
  ids: readonly string[],
): Promise<Receiver[]> {
  const rows = await db
    .selectFrom('webhooks')
    .select(['id', ...RECEIVER_COLUMNS])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'id', ids))
    .orderBy('id')
    .execute()
  return rows.map(toReceiver)
}

const requestsOf = (step: FanOutStep, now: number) =>
  step.receivers
    .filter(({ isBatched }) => !isBatched)
    .map((receiver) => newRequest(requestInputOf(step, receiver), now))

/** The events for webhooks with `batch`. */
async function batchedEventsOf(db: Database, steps: readonly FanOutStep[], now: number) {
  const batched = steps.flatMap((step) =>
    step.receivers.flatMap((receiver) => (receiver.isBatched ? [{ step, receiver }] : [])),
  )
  if (batched.length === 0) return []
  const events = batched.map(({ step: { row } }) => ({ organizationId: row.organization_id, id: row.event_id }))
  const bodies = await readEventBodies(db, events)
  const eventBytes = new Map(bodies.map((body) => [body.event_id, body.octets]))
  return batched.map(({ step, receiver }) =>
    newBatchedEvent(requestInputOf(step, receiver), eventBytes.get(step.row.event_id)!, now),
  )
}

function requestInputOf({ row }: FanOutStep, { id, includes }: Receiver) {
  const monitor: PayloadMonitor | undefined = row.monitor === null ? undefined : JSON.parse(row.monitor)
  const ids = { organizationId: row.organization_id, eventId: row.event_id, monitorId: row.monitor_id }
  return { ...ids, webhookId: id, monitor: pickIncludes(monitor, includes) }
}

async function writeProgress(db: Database, steps: readonly FanOutStep[]): Promise<void> {
  const key = { organization_id: 'text', event_id: 'text' } as const
  const uses = steps.map(({ row, receivers }) => ({
    organization_id: row.organization_id,
    event_id: row.event_id,
    new_requests: receivers.filter(({ isBatched }) => !isBatched).length,
  }))
  await updateEach(db, { table: 'event_bodies', key, add: { requests: 'bigint' } }, uses)
  const done = steps.filter(({ isDone }) => isDone).map(({ row }) => row)
  await deleteEach(db, { table: 'fan_outs', key }, done)
  const unfinished = steps.filter(({ isDone }) => !isDone)
  const rows = unfinished.map(({ row, after }) => ({ ...row, new_after_webhook: after }))
  await updateEach(db, { table: 'fan_outs', key, set: { after_webhook: 'text' } }, rows)
}
