import { expect, test } from 'vitest'
import type { Event } from '#contract/events.ts'
import { insertOrganization } from '../accounts/organizations.ts'
import { systemContext } from '../context.ts'
import type { Database } from '../database/database.ts'
import { newId } from '../ids.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenDeliveries } from '../testing/deliveries.ts'
import { type FanOutPosition, fanOut, writeFanOutBatch } from './deferred-fan-out.ts'
import { insertRequests } from './new-requests.ts'
import { newPayload } from './payload.ts'
import { readBody } from './request-body.ts'
import { deleteRequests } from './retention.ts'
import { deleteWebhook } from './webhook-store.ts'

const now = Date.UTC(2026, 10, 22)
const LARGE = 'x'.repeat(60_000)
let organizations = 0

/** An organization whose default group has so many webhooks, and no process that sends. */
async function givenGroup(db: Database, count: number) {
  const given = { name: `Test ${++organizations}`, email: 'a@example.com', passwordHash: '' }
  const { id: organizationId } = await insertOrganization(db, given, now)
  const group = db.selectFrom('groups').select('id').where('organization_id', '=', organizationId)
  const { id: groupId } = await group.executeTakeFirstOrThrow()
  const ids = Array.from({ length: count }, () => newId('whk', now))
  const webhook = { organization_id: organizationId, created_at: now, url: '', is_active: 1, state: 'active' } as const
  const encrypted = { secret: Buffer.of(), headers: Buffer.of() }
  for (let from = 0; from < count; from += 100) {
    const some = ids.slice(from, from + 100)
    await db
      .insertInto('webhooks')
      .values(some.map((id) => ({ ...webhook, ...encrypted, id })))
      .execute()
    await db
      .insertInto('due_webhooks')
      .values(some.map((id) => ({ webhook_id: id, due_at: null })))
      .execute()
    const links = some.map((id) => ({ organization_id: organizationId, group_id: groupId, webhook_id: id }))
    await db.insertInto('group_webhooks').values(links).execute()
  }
  const report = async (events: number) => {
    const reported = Array.from({ length: events }, () => ({ organizationId, groupId, event: newEvent() }))
    await db.transaction().execute((transaction) => insertRequests(transaction, reported, now))
    return reported.map(({ event }) => event)
  }
  const requests = () =>
    db.selectFrom('webhook_requests').selectAll().where('organization_id', '=', organizationId).execute()
  return { organizationId, webhooks: ids, report, requests }
}

const newEvent = (): Event => ({
  id: newId('evt', now),
  monitor_id: 'mon_1',
  occurred: new Date(now).toISOString(),
  current_value: [LARGE],
  old_state: 'VALID',
  new_state: 'MISMATCH',
  incidence_count: 1,
  domain: { domain: 'example.com', subdomain: '', record_type: 'TXT', expected_value: ['x'], is_exact_match: true },
})

async function fanOutAll(db: Database): Promise<number[]> {
  const position: FanOutPosition = { after: '' }
  const slices: number[] = []
  for (let count = await fanOut(db, position, now); count !== undefined; count = await fanOut(db, position, now))
    slices.push(count)
  return slices
}

onBothEngines('requests for many webhooks', (fresh) => {
  test('store the event once; the first are written with the event, the others in batches, each exactly once', async () => {
    const db = await fresh()
    const { webhooks, report, requests, organizationId } = await givenGroup(db, 500)
    const [event] = await report(1)

    expect(await requests()).toHaveLength(50)
    expect(await fanOutAll(db)).toEqual([200, 200, 50])

    const rows = await requests()
    expect(rows.map(({ webhook_id }) => webhook_id).toSorted()).toEqual(webhooks.toSorted())
    for (const row of rows.slice(0, 3)) {
      const given = { requestId: row.id, webhookId: row.webhook_id, event: event!, createdAt: row.created_at }
      expect((await readBody(db, row)).toString()).toBe(newPayload(given).toString())
    }
    const bodies = await db.selectFrom('event_bodies').selectAll().execute()
    expect(bodies).toMatchObject([{ event_id: event!.id, requests: 500 }])
    expect(Math.max(...rows.map(({ body }) => body.byteLength))).toBeLessThan(200)
    const storage = await db.selectFrom('webhook_storage').selectAll().execute()
    expect(storage).toMatchObject([{ organization_id: organizationId }])
    expect(storage[0]!.octets).toBeLessThan(LARGE.length + 1_000 + 500 * 1_300)

    for (let from = 0; from < 500; from += 100) {
      const ids = rows.slice(from, from + 100).map(({ id }) => id)
      await db.transaction().execute((transaction) => deleteRequests(transaction, { organizationId }, ids))
    }
    expect(await db.selectFrom('event_bodies').selectAll().execute()).toEqual([])
    expect(await db.selectFrom('webhook_storage').select('octets').execute()).toEqual([{ octets: 0 }])
  })

  test('are written again if a batch fails, and two processes share them', async () => {
    const db = await fresh()
    const { webhooks, report, requests, organizationId } = await givenGroup(db, 500)
    await report(1)
    const broken = db.transaction().execute(async (transaction) => {
      expect(await writeFanOutBatch(transaction, { organizationId, limit: 200, now })).toBe(200)
      throw new Error('killed')
    })
    await expect(broken).rejects.toThrow('killed')
    expect(await requests()).toHaveLength(50)

    await Promise.all([fanOutAll(db), fanOutAll(db)])
    while ((await fanOutAll(db)).length > 0) {}

    const ids = (await requests()).map(({ webhook_id }) => webhook_id)
    expect(ids.toSorted()).toEqual(webhooks.toSorted())
    expect(await db.selectFrom('fan_outs').selectAll().execute()).toEqual([])
  })

  test('do not delay those of another organization', async () => {
    const db = await fresh()
    const crowd = await givenGroup(db, 200)
    await crowd.report(15)
    const other = await givenGroup(db, 60)
    await other.report(1)

    await fanOut(db, { after: '' }, now)

    expect(await other.requests()).toHaveLength(60)
  })

  test('are for the webhooks that the group had at the event, whatever changes before they are written', async () => {
    const db = await fresh()
    const { webhooks, report, requests, organizationId } = await givenGroup(db, 100)
    const last = webhooks.toSorted().slice(-40)
    await report(1)
    const [deleted, ...left] = last
    await deleteWebhook(db, systemContext(organizationId, now), deleted!)
    await db.updateTable('webhooks').set({ is_active: 0 }).where('id', 'in', left).execute()
    await db.deleteFrom('group_webhooks').where('organization_id', '=', organizationId).execute()
    await fanOutAll(db)

    const ids = (await requests()).map(({ webhook_id }) => webhook_id)
    expect(ids.toSorted()).toEqual(webhooks.filter((id) => id !== deleted).toSorted())
    expect(await db.selectFrom('event_bodies').select('requests').execute()).toEqual([{ requests: 99 }])
  })

  test('are sent like all others', async () => {
    const world = await givenDeliveries(await fresh())
    const webhooks = []
    for (let count = 0; count < 60; count++) webhooks.push(await world.webhook())
    await world.events(1)
    await world.settle()

    expect(webhooks.every((webhook) => webhook.sent().length === 1)).toBe(true)
    expect(new Set(world.sent.map(({ id }) => id)).size).toBe(60)
  })
})
