import { expect, onTestFinished, test } from 'vitest'
import type { Event } from '#contract/events.ts'
import type { Engine } from '../database/engine.ts'
import { createWakeUps } from '../queue/wake-up.ts'
import { onBothEngines } from '../testing/database.ts'
import { startReceiver } from '../testing/receiver.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'
import { eventually } from '../testing/test-server.ts'
import { runDispatcher } from './dispatcher.ts'
import { insertRequests } from './new-requests.ts'
import { signatureHeaders } from './signature.ts'

const PROCESSES = 2
const PLACES = 4
const REQUESTS = 300
/** After so many answers the processes claim ahead; whatever comes then is held until the test lets it go. */
const ANSWERED = 100
const MAX_IN_FLIGHT = PROCESSES * PLACES

/** A webhook with many requests waiting, processes in the middle of sending them, and a receiver that holds what it got. */
async function givenBurst(engine: Engine, { answer = 200 } = {}) {
  const world = await givenApp(engine)
  const receiver = await startReceiver()
  onTestFinished(receiver.close)
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  let arrived = 0
  receiver.answers(async () => {
    if (++arrived <= ANSWERED) return 200
    await released
    return answer
  })
  const body = { url: `${receiver.url}/old`, headers: { 'X-Key': 'the old value' }, groups: ['default'] }
  const { body: webhook } = await world.call('/webhooks', { method: 'POST', body })
  await insertEvents(world, webhook.groups[0])
  for (let process = 1; process <= PROCESSES; process++) startDispatcher(world, process)
  const path = `/webhooks/${webhook.id}`
  // What was answered is recorded too: a success recorded later would make a paused webhook active.
  const recorded = () => world.call(`${path}/requests?status=DELIVERED&limit=100`)
  await eventually(recorded, ({ body }) => body.data.length === ANSWERED, 60_000)
  await receiver.waitFor(ANSWERED + 1, 60_000)
  const waiting = () =>
    world.deps.db.selectFrom('due_requests').selectAll().where('webhook_id', '=', webhook.id).execute()
  return {
    world,
    receiver,
    webhook,
    call: (method: string, rest: string, sent?: object) =>
      world.call(`${path}${rest}`, { method, ...(sent ? { body: sent } : {}) }),
    release,
    /** Resolves when no process holds a request any more. */
    idle: () => eventually(waiting, (rows) => rows.every(({ claimed_by }) => claimed_by === null), 60_000),
    delivered: () => eventually(waiting, (rows) => rows.length === 0, 60_000),
    ids: () => new Set(receiver.received.map(({ headers }) => headers['webhook-id'])),
  }
}

function startDispatcher({ deps }: TestApp, process: number) {
  const stop = new AbortController()
  const signals = { stop: stop.signal, abandon: stop.signal }
  const loop = runDispatcher({ ...deps, wakeUps: createWakeUps(), process }, signals, {
    total: 100,
    perWebhook: PLACES,
  })
  onTestFinished(async () => {
    stop.abort()
    await loop
  })
}

async function insertEvents(world: TestApp, groupId: string) {
  const { id: organizationId } = await world.organization()
  const now = world.deps.clock.now()
  const domain = {
    domain: 'example.com',
    subdomain: '',
    record_type: 'A' as const,
    expected_value: [],
    is_exact_match: true,
  }
  const reported = Array.from({ length: REQUESTS }, (_, index) => {
    const event: Event = {
      id: `evt_${index}`,
      monitor_id: 'mon_1',
      occurred: '',
      old_state: 'VALID',
      new_state: 'TIMEOUT',
      incidence_count: 1,
      domain,
    }
    return { organizationId, groupId, event }
  })
  await world.deps.db.transaction().execute((transaction) => insertRequests(transaction, reported, now))
}

onBothEngines('after the response to a change, only requests in progress are sent as before', (_fresh, engine) => {
  test('a changed URL, changed headers and a secret rotated without grace apply to all other requests', async () => {
    const { receiver, webhook, call, release, delivered, ids } = await givenBurst(engine)
    const changed = { url: `${receiver.url}/new`, headers: { 'X-Key': 'the new value' } }
    expect((await call('PATCH', '', changed)).status).toBe(200)
    const { body: rotated } = await call('POST', '/rotate-secret', { grace_hours: 0 })
    release()
    await delivered()

    const isSignedBy = (secret: string) => (each: (typeof receiver.received)[number]) =>
      signatureHeaders({ requestId: '', body: each.body, secret, sentAt: 0 })['X-Service-Signature'] ===
      each.headers['x-service-signature']
    const old = receiver.received.filter(({ path }) => path === '/old')
    expect(old.length).toBeLessThanOrEqual(ANSWERED + MAX_IN_FLIGHT)
    const fresh = receiver.received.filter(({ path }) => path === '/new')
    expect(fresh.every(({ headers }) => headers['x-key'] === 'the new value')).toBe(true)
    expect(old.every(isSignedBy(webhook.secret))).toBe(true)
    expect(fresh.filter(isSignedBy(rotated.secret)).length).toBeGreaterThanOrEqual(fresh.length - MAX_IN_FLIGHT)
    expect(fresh.every(({ headers }) => String(headers['webhook-signature']).split(' ').length === 1)).toBe(true)
    expect(ids().size).toBe(REQUESTS)
  })

  test('a disabled webhook receives nothing more, and all queued requests when it is enabled again', async () => {
    const { receiver, call, release, idle, delivered, ids } = await givenBurst(engine)
    expect((await call('POST', '/disable')).status).toBe(200)
    release()
    await idle()
    expect(receiver.received.length).toBeLessThanOrEqual(ANSWERED + MAX_IN_FLIGHT)

    await call('POST', '/enable')
    await delivered()
    expect(ids().size).toBe(REQUESTS)
  })

  test('a deleted webhook receives nothing more', async () => {
    const { receiver, call, release, idle } = await givenBurst(engine)
    expect((await call('DELETE', '')).status).toBe(204)
    release()
    await idle()
    expect(receiver.received.length).toBeLessThanOrEqual(ANSWERED + MAX_IN_FLIGHT)
  })

  test('a webhook that responds with 410 receives nothing more', async () => {
    const { receiver, call, release, idle } = await givenBurst(engine, { answer: 410 })
    release()
    await eventually(
      () => call('GET', ''),
      ({ body }) => body.state === 'paused',
    )
    await idle()
    expect(receiver.received.length).toBeLessThanOrEqual(ANSWERED + MAX_IN_FLIGHT)
  })
})
