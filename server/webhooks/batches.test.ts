import { createHmac } from 'node:crypto'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import type { DeliveryBatch, Event } from '#contract/events.ts'
import { systemContext } from '../context.ts'
import { SELF_HOSTED } from '../plan.ts'
import { onBothEngines } from '../testing/database.ts'
import { type Deliveries, givenDeliveries, type SentRequest } from '../testing/deliveries.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'
import { planBatches } from './batches.ts'
import { fanOut } from './deferred-fan-out.ts'
import { createTestRequest } from './manual-attempts.ts'
import { insertRequests } from './new-requests.ts'
import { MAX_BATCH_BYTES } from './payload.ts'
import { replayBatch, startReplay } from './replay.ts'
import { deleteRequests, deleteRequestsOfDeletedWebhooks } from './retention.ts'
import { deleteWebhook, setActive } from './webhook-store.ts'

const MINUTE_MS = 60_000
const BATCH = { max_events: 100, max_wait_seconds: 5 }

describe('one batch', () => {
  const settings = { batch_max_events: 3, batch_max_wait_seconds: 5 }
  const waiting = (...times: number[]) => times.map((added_at, at) => ({ event_id: `${at}`, added_at, size: 10 }))

  test('is sent at once when it is full, and the other events wait from when the first of them was added', () => {
    expect(planBatches([], settings, 1_000)).toEqual({ batches: [], dueAt: null })
    expect(planBatches(waiting(0, 500), settings, 1_000)).toEqual({ batches: [], dueAt: 5_000 })
    expect(planBatches(waiting(0, 500, 500), settings, 1_000)).toEqual({ batches: [['0', '1', '2']], dueAt: null })
    expect(planBatches(waiting(0, 0, 0, 700), settings, 1_000)).toEqual({ batches: [['0', '1', '2']], dueAt: 5_700 })
  })

  test('has all waiting events when the first one has waited long enough, also after the clock was set back', () => {
    expect(planBatches(waiting(0, 4_999), settings, 5_000)).toEqual({ batches: [['0', '1']], dueAt: null })
    expect(planBatches(waiting(9_000, 9_001), settings, 1_000)).toEqual({ batches: [['0', '1']], dueAt: null })
  })

  test('has all waiting events after the webhook turned batches off', () => {
    const off = { batch_max_events: null, batch_max_wait_seconds: null }
    expect(planBatches(waiting(0, 0, 0, 0), off, 0).batches).toEqual([['0', '1', '2', '3']])
  })

  test('is no larger than receivers accept, but has at least one event', () => {
    const large = ['a', 'b', 'c'].map((event_id) => ({ event_id, added_at: 0, size: MAX_BATCH_BYTES / 2 }))
    expect(planBatches(large, settings, 5_000).batches).toEqual([['a'], ['b'], ['c']])
    const small = large.map((event) => ({ ...event, size: MAX_BATCH_BYTES / 2 - 1 }))
    expect(planBatches(small, settings, 5_000).batches).toEqual([['a', 'b'], ['c']])
    const [huge] = [{ ...large[0]!, size: 2 * MAX_BATCH_BYTES }]
    expect(planBatches([huge], settings, 5_000).batches).toEqual([['a']])
  })
})

const requestBody = ({ body }: SentRequest) => JSON.parse(body) as DeliveryBatch
const eventsOf = (sent: readonly SentRequest[]) =>
  sent.flatMap((each) => requestBody(each).events.map(({ event }) => event.id))
const batchedIn = ({ db }: Deliveries) => db.selectFrom('batched_events').selectAll().execute()

onBothEngines('batches', (fresh) => {
  test('1,000 events at once are sent in ten signed bodies, each event in one of them', async () => {
    const world = await givenDeliveries(await fresh())
    const webhook = await world.webhook({ batch: BATCH })
    const plain = await world.webhook()

    await world.events(1_000)
    await world.pass(MINUTE_MS)

    const sent = webhook.sent()
    expect(sent.map((each) => requestBody(each).events.length)).toEqual(Array(10).fill(100))
    expect(new Set(eventsOf(sent)).size).toBe(1_000)
    expect(new Set(sent.map(({ id }) => id)).size).toBe(10)
    for (const each of sent) {
      const body = requestBody(each)
      expect(Object.keys(body)).toEqual(['id', 'webhook_id', 'events', 'created'])
      expect([body.id, body.webhook_id]).toEqual([each.id, webhook.id])
      const signature = createHmac('sha256', webhook.secret).update(each.body).digest('hex')
      expect(each.headers['X-Service-Signature']).toBe(signature)
    }
    const alone = plain.sent().map(({ body }) => JSON.parse(body))
    expect(alone).toHaveLength(1_000)
    const byId = new Map(alone.map(({ event }) => [event.id, event]))
    for (const { events } of sent.map(requestBody)) {
      for (const { event } of events) expect(JSON.stringify(event)).toBe(JSON.stringify(byId.get(event.id)))
    }
    expect(await world.db.selectFrom('due_requests').selectAll().execute()).toEqual([])
  })

  test('an event waits for others no longer than the webhook says', async () => {
    const world = await givenDeliveries(await fresh())
    const webhook = await world.webhook({ batch: BATCH })

    await world.events(3)
    await world.pass(3_000)
    await world.events(2)
    await world.pass(1_999)
    expect(webhook.sent()).toEqual([])
    await world.pass(1)

    expect(webhook.sent().map((each) => requestBody(each).events.length)).toEqual([5])
    expect(await webhook.requests()).toMatchObject([{ status: 'DELIVERED', events: 5, monitor_id: null }])
  })

  test('a batch is retried with the same bytes and id, and later events are in another batch', async () => {
    const world = await givenDeliveries(await fresh())
    const webhook = await world.webhook({ batch: BATCH })
    webhook.answers(503)
    await world.events(2)
    await world.pass(10_000)
    await world.events(1)
    await world.pass(10_000)
    webhook.answers(200)
    await world.pass(20 * MINUTE_MS)

    const sent = webhook.sent()
    expect(sent).toHaveLength(4)
    expect(new Set(sent.map(({ id, body }) => id + body)).size).toBe(2)
    expect(await webhook.requests()).toMatchObject([
      { status: 'DELIVERED', attempts: 2, retries: 1, events: 2 },
      { status: 'DELIVERED', attempts: 2, retries: 1, events: 1 },
    ])
  })

  test('events of a paused or disabled webhook are queued in batches, and sent when it is active again', async () => {
    const world = await givenDeliveries(await fresh())
    const webhook = await world.webhook({ batch: BATCH })
    const context = () => systemContext(world.organizationId, world.clock.now())
    webhook.answers(410)
    await world.events(1)
    await world.pass(MINUTE_MS)
    expect(await webhook.row()).toMatchObject({ state: 'paused' })
    await world.events(250)
    await world.pass(MINUTE_MS)
    expect((await webhook.requests()).map(({ events, status }) => [events, status])).toEqual([
      [1, 'RETRYING'],
      [100, 'PENDING'],
      [100, 'PENDING'],
      [50, 'PENDING'],
    ])
    await setActive(world.db, context(), webhook.id, false)
    await setActive(world.db, context(), webhook.id, true)
    webhook.answers(200)
    await world.pass(2 * world.HOUR_MS)
    expect(await webhook.row()).toMatchObject({ state: 'active' })
    expect(new Set(eventsOf(webhook.sent())).size).toBe(251)

    await world.events(1)
    await setActive(world.db, context(), webhook.id, false)
    await world.events(1)
    await world.pass(MINUTE_MS)
    const before = webhook.sent().length
    await setActive(world.db, context(), webhook.id, true)
    await world.pass(MINUTE_MS)
    expect(
      webhook
        .sent()
        .slice(before)
        .map((each) => requestBody(each).events.length),
    ).toEqual([1])
  })

  test('a test request has the form of a batch and is sent at once, and a replay sends batches again', async () => {
    const world = await givenDeliveries(await fresh())
    const webhook = await world.webhook({ batch: BATCH, payload_includes: ['tags'] })
    const context = systemContext(world.organizationId, world.clock.now())
    await createTestRequest(world.db, context, webhook.id)
    await world.settle()
    const [test] = webhook.sent()
    expect(requestBody(test!)).toMatchObject({
      id: expect.stringMatching(/^req_test_/),
      events: [{ monitor: { tags: [] } }],
    })

    await world.events(2)
    await world.pass(10_000)
    const period = { since: 0, until: world.clock.now() }
    const replaying = await startReplay(world.db, context, webhook.id, period)
    expect(await replayBatch(world.db, context, webhook.id, replaying)).toMatchObject({ result: { count: 1 } })
    await world.pass(10_000)
    const [, first, again, ...others] = webhook.sent()
    expect([others, again!.body, again!.id]).toEqual([[], first!.body, first!.id])
  })

  test('batches and single requests of 60 webhooks are all sent, also those that the fan-out writes', async () => {
    const world = await givenDeliveries(await fresh())
    const webhooks = await Array.fromAsync({ length: 60 }, (_, at) =>
      world.webhook(at % 3 === 0 ? { batch: BATCH } : {}),
    )
    await world.events(3)
    while ((await fanOut(world.db, { after: '' }, world.clock.now())) !== undefined);
    await world.pass(MINUTE_MS)

    for (const [at, webhook] of webhooks.entries()) {
      const sent = webhook.sent()
      const ids = at % 3 === 0 ? eventsOf(sent) : sent.map(({ body }) => JSON.parse(body).event.id)
      expect([sent.length, ids.toSorted()]).toEqual([at % 3 === 0 ? 1 : 3, ['evt_0', 'evt_1', 'evt_2']])
    }
    const requests = await world.db.selectFrom('webhook_requests').select('id').execute()
    await world.db.transaction().execute((tx) =>
      deleteRequests(
        tx,
        { organizationId: world.organizationId },
        requests.map(({ id }) => id),
      ),
    )
    expect(await world.db.selectFrom('event_bodies').selectAll().execute()).toEqual([])
    expect(await world.db.selectFrom('webhook_storage').select('octets').execute()).toEqual([{ octets: 0 }])
    expect(await batchedIn(world)).toEqual([])
  })

  test('long events are split into bodies that receivers accept', async () => {
    const world = await givenDeliveries(await fresh())
    const webhook = await world.webhook({ batch: BATCH })
    const { id: groupId } = await world.db.selectFrom('groups').select('id').executeTakeFirstOrThrow()
    const reported = Array.from({ length: 40 }, (_, at) => ({
      organizationId: world.organizationId,
      groupId,
      event: newEvent(`evt_${String(at).padStart(3, '0')}`, 'x'.repeat(60_000)),
    }))
    await world.db.transaction().execute((tx) => insertRequests(tx, reported, world.clock.now()))
    await world.pass(MINUTE_MS)

    const sent = webhook.sent()
    expect(sent.map((each) => requestBody(each).events.length)).toEqual([17, 17, 6])
    for (const { body } of sent) expect(Buffer.byteLength(body)).toBeLessThanOrEqual(1024 * 1024)
    expect(new Set(eventsOf(sent)).size).toBe(40)
  })

  test('the waiting events of a deleted webhook are deleted', async () => {
    const world = await givenDeliveries(await fresh())
    const webhook = await world.webhook({ batch: { max_wait_seconds: 60 } })
    await world.events(250)
    await world.settle()
    await deleteWebhook(world.db, systemContext(world.organizationId, world.clock.now()), webhook.id)
    world.clock.moveTo(world.clock.now() + 10 * MINUTE_MS)
    const { db, clock } = world
    const webhookKeep = { waitingRequests: 0, waitingDays: 0, storedBytes: 0 }
    const deps = { db, clock, log: pino({ level: 'silent' }), config: { plans: SELF_HOSTED, webhookKeep } }
    await deleteRequestsOfDeletedWebhooks(deps, new AbortController().signal)
    expect(await batchedIn(world)).toEqual([])
  })
})

const newEvent = (id: string, value = '192.0.2.9', monitor = 'mon_1'): Event => ({
  id,
  monitor_id: monitor,
  occurred: new Date(0).toISOString(),
  current_value: [value],
  old_state: 'VALID',
  new_state: 'MISMATCH',
  incidence_count: 1,
  domain: { domain: 'example.com', subdomain: '', record_type: 'TXT', expected_value: ['x'], is_exact_match: true },
})

const post = (world: TestApp, path: string, body: object, key?: string) =>
  world.call(path, { method: 'POST', body, ...(key === undefined ? {} : { key }) })
const URL_OK = 'http://127.0.0.1:9999/hook'

onBothEngines('the setting batch', (_fresh, engine) => {
  test('is absent by default, fills in missing fields, is replaced as a whole, and is turned off with null', async () => {
    const world = await givenApp(engine)
    const plain = (await post(world, '/webhooks', { url: URL_OK })).body
    expect(plain).not.toHaveProperty('batch')
    const { id, batch } = (await post(world, '/webhooks', { url: URL_OK, batch: {} })).body
    expect(batch).toEqual({ max_events: 100, max_wait_seconds: 5 })
    const patch = (batch: unknown) => world.call(`/webhooks/${id}`, { method: 'PATCH', body: { batch } })
    expect((await patch({ max_events: 7 })).body.batch).toEqual({ max_events: 7, max_wait_seconds: 5 })
    const [entry] = (await world.call('/audit-log?action=webhook.updated')).body.data
    expect([entry.before.batch, entry.after.batch]).toMatchObject([{ max_events: 100 }, { max_events: 7 }])
    expect((await patch(null)).body).not.toHaveProperty('batch')
    const wrong = [{ max_events: 0 }, { max_events: 101 }, { max_wait_seconds: 61 }, { max_wait_seconds: -1 }]
    for (const given of [...wrong, { size: 3 }, { max_events: 1.5 }, true, []]) {
      const refused = await patch(given)
      expect([refused.status, Object.keys(refused.body.errors)[0]], JSON.stringify(given)).toEqual([
        400,
        expect.stringMatching(/^batch/),
      ])
    }
  })

  test('lists a request with the number of its events, and finds it by each event and monitor, only in its organization', async () => {
    const world = await givenApp(engine)
    const { db, clock } = world.deps
    const made = (await post(world, '/webhooks', { url: URL_OK, groups: ['default'], batch: {} })).body.id
    const group = await db.selectFrom('groups').selectAll().where('slug', '=', 'default').executeTakeFirstOrThrow()
    const events = [newEvent('evt_1', 'a', 'mon_1'), newEvent('evt_2', 'b', 'mon_2'), newEvent('evt_3', 'c', 'mon_1')]
    const reported = events.map((event) => ({ organizationId: group.organization_id, groupId: group.id, event }))
    await db.transaction().execute((tx) => insertRequests(tx, reported, clock.now()))
    const list = (query: string, key?: string) =>
      world.call(`/webhooks/${made}/requests${query}`, key === undefined ? {} : { key })
    expect((await list('')).body.data).toEqual([])
    await world.call(`/webhooks/${made}`, { method: 'PATCH', body: { batch: null } })
    const { claimRequests } = await import('./claim-requests.ts')
    const claiming = {
      now: clock.now(),
      process: 1,
      refill: [],
      capacity: 10,
      capacityOf: () => 10,
      capacityOfOrganization: () => 10,
    }
    await claimRequests(db, world.deps.keyring, claiming)

    const [request, ...others] = (await list('')).body.data
    expect([request, others]).toMatchObject([{ events: 3, event_id: 'evt_1', status: 'PENDING' }, []])
    for (const query of ['event_id=evt_1', 'event_id=evt_3', 'monitor_id=mon_2', 'monitor_id=mon_1&event_id=evt_2']) {
      expect([query, (await list(`?${query}`)).body.data]).toEqual([query, [request]])
    }
    for (const query of ['event_id=evt_4', 'monitor_id=mon_3', 'status=FAILED&event_id=evt_1']) {
      expect([query, (await list(`?${query}`)).body.data]).toEqual([query, []])
    }
    const { payload } = (await world.call(`/webhooks/${made}/requests/${request.id}`)).body
    expect(payload.events.map(({ event }: { event: Event }) => event)).toEqual(events)
    expect((await world.call('/webhook-requests')).body.data).toEqual([request])
    const { key } = await world.organization('Other')
    expect((await list('?event_id=evt_1', key)).status).toBe(404)
    expect((await world.call('/webhook-requests', { key })).body.data).toEqual([])
  })
})
