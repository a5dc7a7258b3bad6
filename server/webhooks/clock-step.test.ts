import { expect, test } from 'vitest'
import type { Database } from '../database/database.ts'
import { LEASE_MS } from '../queue/lease-queue.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenDeliveries } from '../testing/deliveries.ts'
import { repairRequests } from './clock-step.ts'
import { PROBE_MS } from './transition.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const NOW = Date.UTC(2026, 10, 21, 9, 30)
const LATER = NOW + DAY_MS

onBothEngines('deliveries after the clock was set back', (fresh) => {
  test('a retry waits for its delay again, and other requests are due now', async () => {
    const db = await fresh()
    await insert(db, [
      { id: 'req_new', due_at: LATER, status: 'PENDING' },
      { id: 'req_asked', due_at: LATER, status: 'DELIVERED', is_manual: 1, attempted: LATER - DAY_MS },
      { id: 'req_first', due_at: LATER + 5 * MINUTE_MS, attempted: LATER },
      { id: 'req_last', due_at: LATER + DAY_MS + 3_000, attempted: LATER },
      { id: 'req_broken', due_at: LATER + 90 * DAY_MS, attempted: LATER - 90 * DAY_MS },
    ])
    await repairRequests(db, { now: NOW, process: 1 })
    expect(await dueOf(db)).toEqual({
      req_new: NOW,
      req_asked: NOW,
      req_first: NOW + 5 * MINUTE_MS,
      req_last: NOW + DAY_MS + 3_000,
      req_broken: NOW + DAY_MS + 10_000,
    })
    expect(await nextOf(db)).toMatchObject({ req_first: NOW + 5 * MINUTE_MS, req_last: NOW + DAY_MS + 3_000 })
  })

  test('a request with a plausible time, a due one, and one that this process sends are not changed', async () => {
    const db = await fresh()
    const rows = [
      { id: 'req_due', due_at: NOW - DAY_MS, status: 'PENDING' as const },
      { id: 'req_well', due_at: NOW + 23 * HOUR_MS, attempted: NOW - HOUR_MS },
      { id: 'req_own', due_at: LATER + LEASE_MS, claimed_by: 1, attempted: LATER },
      { id: 'req_held', due_at: NOW + LEASE_MS, claimed_by: 2 },
      // Claimed after this process read its clock, and before it read the queue.
      { id: 'req_just', due_at: NOW + LEASE_MS + 100, claimed_by: 2 },
    ]
    await insert(db, rows)
    await repairRequests(db, { now: NOW, process: 1 })
    expect(await dueOf(db)).toEqual(Object.fromEntries(rows.map(({ id, due_at }) => [id, due_at])))
  })

  test('the lease of another process expires within a minute', async () => {
    const db = await fresh()
    await insert(db, [{ id: 'req_1', due_at: LATER + LEASE_MS, claimed_by: 2 }])
    await repairRequests(db, { now: NOW, process: 1 })
    expect(await dueOf(db)).toEqual({ req_1: NOW + LEASE_MS })
  })

  test('a webhook is checked now, and a paused one is probed within an hour', async () => {
    const db = await fresh()
    await insertWebhooks(db, ['whk_far', 'whk_paused', 'whk_idle'])
    await db
      .insertInto('due_webhooks')
      .values([
        { webhook_id: 'whk_far', due_at: LATER },
        { webhook_id: 'whk_paused', due_at: LATER, probe_at: LATER },
        { webhook_id: 'whk_idle', due_at: null },
      ])
      .execute()
    await repairRequests(db, { now: NOW, process: 1 })
    const queues = await db.selectFrom('due_webhooks').selectAll().orderBy('webhook_id').execute()
    expect(queues.map(({ due_at, probe_at }) => ({ due_at, probe_at }))).toEqual([
      { due_at: NOW, probe_at: null },
      { due_at: null, probe_at: null },
      { due_at: NOW, probe_at: NOW + PROBE_MS },
    ])
  })

  test('all requests are repaired, however many there are', async () => {
    const db = await fresh()
    const many = Array.from({ length: 450 }, (_, at) => ({
      id: `req_${at}`,
      due_at: LATER + at,
      attempted: LATER - 60_000,
    }))
    await insert(db, many)
    await repairRequests(db, { now: NOW, process: 1 })
    expect(Object.values(await dueOf(db)).every((dueAt) => dueAt! <= NOW + 60_450)).toBe(true)
  })

  test('the dispatcher detects the step and sends requests that were written before it', async () => {
    const world = await givenDeliveries(await fresh())
    const webhook = await world.webhook()
    webhook.answers(500)
    await world.events()
    await world.settle()
    webhook.answers(200)

    world.clock.setBack(DAY_MS)
    await world.pass(4 * MINUTE_MS)
    expect(webhook.sent()).toHaveLength(1)
    await world.pass(2 * MINUTE_MS)

    expect((await webhook.requests()).map(({ status }) => status)).toEqual(['DELIVERED'])
  })
})

type Row = {
  id: string
  due_at: number
  status?: 'PENDING' | 'RETRYING' | 'DELIVERED'
  attempted?: number
  claimed_by?: number
  is_manual?: 0 | 1
}

async function insertWebhooks(db: Database, ids: readonly string[]): Promise<void> {
  const organization = { id: 'org_1', created_at: 0, name: 'Test', slug: 'test', event_retention_days: null }
  await db.insertInto('organizations').values(organization).execute()
  const row = { organization_id: 'org_1', created_at: 0, url: '', secret: Buffer.of(), headers: Buffer.of() }
  await db
    .insertInto('webhooks')
    .values(ids.map((id) => ({ ...row, id, is_active: 1, state: 'active' })))
    .execute()
}

async function insert(db: Database, rows: Row[]): Promise<void> {
  await insertWebhooks(db, ['whk_1'])
  await db.insertInto('due_webhooks').values({ webhook_id: 'whk_1', due_at: LATER }).execute()
  for (const { id, due_at, status = 'RETRYING', attempted = null, claimed_by = null, is_manual = 0 } of rows) {
    await db
      .insertInto('webhook_requests')
      .values({
        id,
        organization_id: 'org_1',
        webhook_id: 'whk_1',
        event_id: 'evt_1',
        monitor_id: 'mon_1',
        created_at: NOW,
        body: Buffer.from('{}'),
        status,
        attempts: attempted === null ? 0 : 1,
        retries: 0,
        last_attempt_at: attempted,
        next_attempt_at: due_at,
      })
      .execute()
    await db
      .insertInto('due_requests')
      .values({ webhook_id: 'whk_1', request_id: id, due_at, claimed_by, is_manual })
      .execute()
  }
}

async function dueOf(db: Database): Promise<Record<string, number | null>> {
  const rows = await db.selectFrom('due_requests').select(['request_id', 'due_at']).execute()
  return Object.fromEntries(rows.map(({ request_id, due_at }) => [request_id, due_at]))
}

async function nextOf(db: Database): Promise<Record<string, number | null>> {
  const rows = await db.selectFrom('webhook_requests').select(['id', 'next_attempt_at']).execute()
  return Object.fromEntries(rows.map(({ id, next_attempt_at }) => [id, next_attempt_at]))
}
