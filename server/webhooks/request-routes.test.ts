import { expect, onTestFinished, test } from 'vitest'
import { onBothEngines } from '../testing/database.ts'
import { type Receiver, startReceiver } from '../testing/receiver.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'
import { eventually } from '../testing/test-server.ts'
import { runDispatcher } from './dispatcher.ts'
import { insertRequests, type ReportedEvent } from './new-requests.ts'

const KEYS = [
  'created',
  'delivered',
  'error',
  'event_id',
  'id',
  'last_attempt',
  'next_attempt',
  'response_body',
  'retries',
  'status',
  'status_code',
  'webhook_id',
]

/** The API, a real receiver, a webhook for it on the default group, and a dispatcher where the test wants one. */
async function givenWebhook(engine: Parameters<typeof givenApp>[0], { sends = true } = {}) {
  const world = await givenApp(engine)
  const receiver = await startReceiver()
  onTestFinished(receiver.close)
  if (sends) startDispatcher(world)
  const body = { url: `${receiver.url}/hook`, groups: ['default'] }
  const { body: webhook } = await world.call('/webhooks', { method: 'POST', body })
  const path = `/webhooks/${webhook.id}`
  return { world, receiver, webhook, path, groupId: webhook.groups[0] as string }
}

function startDispatcher({ deps }: TestApp) {
  const stop = new AbortController()
  const loop = runDispatcher(
    { ...deps, process: 1 },
    { stop: stop.signal, abandon: stop.signal },
    { total: 20, perWebhook: 4 },
  )
  onTestFinished(async () => {
    stop.abort()
    await loop
  })
}

const made = new WeakMap<TestApp, number>()

async function events(world: TestApp, groupId: string, count: number, at = world.deps.clock.now()) {
  const { id: organizationId } = await world.organization()
  const before = made.get(world) ?? 0
  made.set(world, before + count)
  const reported: ReportedEvent[] = Array.from({ length: count }, (_, index) => ({
    organizationId,
    groupId,
    event: {
      id: `evt_${before + index}`,
      monitor_id: `mon_${index % 3}`,
      occurred: new Date(at).toISOString(),
      previous_value: ['192.0.2.1'],
      old_state: 'VALID',
      new_state: 'TIMEOUT',
      incidence_count: 1,
      domain: {
        domain: 'example.com',
        subdomain: '',
        record_type: 'A',
        expected_value: ['192.0.2.1'],
        is_exact_match: true,
      },
    },
  }))
  await world.deps.db.transaction().execute((transaction) => insertRequests(transaction, reported, at))
  world.deps.wakeUps.requests.send()
}

const idsOf = (receiver: Receiver) => receiver.received.map(({ headers }) => headers['webhook-id'])

onBothEngines('the webhook requests API', (_fresh, engine) => {
  test('a test request is sent, is recognizable as a test, and is in the log with its attempt', async () => {
    const { world, receiver, webhook, path } = await givenWebhook(engine)
    receiver.answers({ status: 202, body: 'thank you' })

    const answer = await world.call(`${path}/test`, { method: 'POST' })

    expect(answer.status).toBe(202)
    expect(Object.keys(answer.body).sort()).toEqual(KEYS)
    expect(answer.body).toMatchObject({ webhook_id: webhook.id, event_id: null, status: 'PENDING', retries: 0 })
    expect(answer.body.id).toMatch(/^req_test_[0-9a-z]{26}$/)
    const [received] = await receiver.waitFor(1)
    const payload = JSON.parse(received!.body.toString())
    expect(payload).toMatchObject({
      id: answer.body.id,
      webhook_id: webhook.id,
      event: { old_state: 'VALID', new_state: 'MISMATCH', domain: { record_type: 'A' } },
    })
    expect(payload.event.id).toMatch(/^evt_test_[0-9a-z]{26}$/)
    expect(payload.event.monitor_id).toMatch(/^mon_test_[0-9a-z]{26}$/)
    const { body } = await eventually(
      () => world.call(`${path}/requests/${answer.body.id}`),
      ({ body }) => body.status === 'DELIVERED',
    )
    expect(body).toMatchObject({
      status_code: 202,
      response_body: 'thank you',
      error: null,
      next_attempt: null,
      payload,
      attempts: [{ number: 1, status_code: 202, error: null, response_body: 'thank you' }],
    })
    expect(body.attempts[0].timings).toHaveProperty('totalMs')
    expect((await world.call(path)).body.last_executed).toBe(body.last_attempt)
  })

  test('a manual retry sends the same bytes again', async () => {
    const { world, receiver, path, groupId } = await givenWebhook(engine)
    await events(world, groupId, 1)
    await receiver.waitFor(1)
    const { body: list } = await eventually(
      () => world.call(`${path}/requests?status=delivered`),
      ({ body }) => body.data.length === 1,
    )

    const answer = await world.call(`${path}/requests/${list.data[0].id}/retry`, { method: 'POST' })

    expect(answer).toMatchObject({ status: 200, body: { id: list.data[0].id } })
    const [first, second] = await receiver.waitFor(2)
    expect(second!.body).toEqual(first!.body)
    expect(second!.headers['webhook-id']).toBe(first!.headers['webhook-id'])
  })

  test('a replay sends the requests of a period again, also delivered ones: same ids, same bytes, oldest first', async () => {
    const { world, receiver, path, groupId } = await givenWebhook(engine)
    await events(world, groupId, 12)
    await world.call(`${path}/test`, { method: 'POST' })
    await receiver.waitFor(13)
    const first = new Map(receiver.received.map(({ headers, body }) => [headers['webhook-id'], body.toString()]))
    await eventually(
      () => world.call(`${path}/requests?status=DELIVERED`),
      ({ body }) => body.data.length === 13,
    )
    receiver.reset()

    const answer = await world.call(`${path}/replay`, { method: 'POST', body: { since: '2020-01-01T00:00:00Z' } })

    expect(answer).toMatchObject({ status: 202, body: { count: 12 } })
    await receiver.waitFor(12)
    for (const { headers, body } of receiver.received) expect(body.toString()).toBe(first.get(headers['webhook-id']))
    expect(new Set(idsOf(receiver)).size).toBe(12)
  })

  test('a replay sends only requests of its period and status', async () => {
    const { world, path, groupId } = await givenWebhook(engine, { sends: false })
    const now = world.deps.clock.now()
    await events(world, groupId, 3, now - 3_600_000)
    await events(world, groupId, 4, now - 60_000)
    const count = async (body: object) => (await world.call(`${path}/replay`, { method: 'POST', body })).body
    const since = (ms: number) => new Date(now - ms).toISOString()

    expect(await count({ since: since(7_200_000) })).toEqual({ count: 7 })
    expect(await count({ since: since(120_000) })).toEqual({ count: 4 })
    expect(await count({ since: since(7_200_000), until: since(120_000) })).toEqual({ count: 3 })
    expect(await count({ since: since(7_200_000), status: 'FAILED' })).toEqual({ count: 0 })
    expect(await count({ since: String(Math.floor(now / 1000) - 7_200) })).toEqual({ count: 7 })
    expect((await count({})).errors).toHaveProperty('since')
    const wrong = await count({ since: 'yesterday', until: true, status: 'failed' })
    expect(Object.keys(wrong.errors).sort()).toEqual(['since', 'status', 'until'])
    expect((await count({ since: since(0), until: since(1_000) })).errors).toHaveProperty('until')
  })

  test('every filter of the log works in both orders', async () => {
    const { world, path, groupId } = await givenWebhook(engine, { sends: false })
    const { db } = world.deps
    const start = Date.UTC(2026, 0, 1)
    for (let minute = 0; minute < 6; minute++) await events(world, groupId, 1, start + minute * 60_000)
    const rows = await db.selectFrom('webhook_requests').select('id').orderBy('id').execute()
    const ids = rows.map(({ id }) => id)
    await db
      .updateTable('webhook_requests')
      .set({
        status: 'DELIVERED',
        status_code: 204,
        delivered_at: start + 3_600_000,
        last_attempt_at: start + 3_599_000,
      })
      .where('id', '=', ids[4]!)
      .execute()
    await db
      .updateTable('webhook_requests')
      .set({ status: 'FAILED', status_code: 500, last_attempt_at: start + 1_800_000 })
      .where('id', '=', ids[2]!)
      .execute()
    const found = async (query: string) => {
      const { body } = await world.call(`${path}/requests?${query}`)
      return body.data.map(({ id }: { id: string }) => ids.indexOf(id))
    }
    const at = (minute: number) => new Date(start + minute * 60_000).toISOString()

    expect(await found('')).toEqual([0, 1, 2, 3, 4, 5])
    expect(await found('order_way=desc')).toEqual([5, 4, 3, 2, 1, 0])
    expect(await found('order_by=last_attempt')).toEqual([2, 4, 0, 1, 3, 5])
    expect(await found('status=failed')).toEqual([2])
    expect(await found('status=PENDING&order_way=desc')).toEqual([5, 3, 1, 0])
    expect(await found('status_code=204')).toEqual([4])
    expect(await found('status_code=500&status=FAILED')).toEqual([2])
    expect(await found('status_code=404')).toEqual([])
    expect(await found('monitor_id=mon_0')).toEqual([0, 1, 2, 3, 4, 5])
    expect(await found('monitor_id=mon_1')).toEqual([])
    expect(await found('event_id=evt_0&limit=1')).toEqual([0])
    expect(await found(`created_after=${at(3)}`)).toEqual([4, 5])
    expect(await found(`created_before=${at(2)}&created_after=${at(0)}`)).toEqual([1])
    expect(await found(`delivered_after=${at(30)}`)).toEqual([4])
    expect(await found(`delivered_before=${at(60)}`)).toEqual([])
    expect(await found(`last_attempt_after=${at(29)}`)).toEqual([2, 4])
    expect(await found(`last_attempt_before=${at(31)}&order_by=last_attempt`)).toEqual([2])
    expect((await world.call(`${path}/requests?status=GONE`)).body.errors).toHaveProperty('status')
    expect((await world.call(`${path}/requests?created_after=soon`)).body.errors).toHaveProperty('created_after')
  })

  test('next_attempt is the time of the schedule, and null while the webhook is disabled or paused', async () => {
    const { world, receiver, path, groupId, webhook } = await givenWebhook(engine)
    receiver.answers(500)
    await events(world, groupId, 1)
    const read = async () => (await world.call(`${path}/requests`)).body.data[0]
    const waiting = await eventually(read, ({ status }) => status === 'RETRYING')
    const delay = Date.parse(waiting.next_attempt) - Date.parse(waiting.last_attempt)
    expect(delay).toBeGreaterThanOrEqual(300_000)
    expect(delay).toBeLessThanOrEqual(311_000)

    await world.call(`${path}/disable`, { method: 'POST' })
    expect((await read()).next_attempt).toBeNull()
    await world.call(`${path}/enable`, { method: 'POST' })
    expect((await read()).next_attempt).toBe(waiting.next_attempt)
    const probe_at = world.deps.clock.now() + 3_600_000 // as a pause sets it: else it would be probed now
    await world.deps.db.updateTable('due_webhooks').set({ probe_at }).where('webhook_id', '=', webhook.id).execute()
    await world.deps.db.updateTable('webhooks').set({ state: 'paused' }).where('id', '=', webhook.id).execute()
    expect((await read()).next_attempt).toBeNull()
    expect((await world.call('/webhooks?state=paused')).body.data).toHaveLength(1)
  })

  test('requests are signed with the new secret after a rotation, and during the grace with the old one too', async () => {
    const { world, receiver, path } = await givenWebhook(engine)
    const rotation = { method: 'POST', body: { secret: 'another secret of ours', grace_hours: 1 } }
    await world.call(`${path}/rotate-secret`, rotation)
    await world.call(`${path}/test`, { method: 'POST' })
    const [during] = await receiver.waitFor(1)
    expect(String(during!.headers['webhook-signature']).split(' ')).toHaveLength(2)

    await eventually(
      () => world.call(`${path}/requests?status=DELIVERED`),
      ({ body }) => body.data.length === 1,
    )
    world.pass(3_600_001)
    await world.call(`${path}/test`, { method: 'POST' })
    const [, after] = await receiver.waitFor(2)
    expect(String(after!.headers['webhook-signature']).split(' ')).toHaveLength(1)
    expect(after!.headers['x-service-signature']).not.toBe(during!.headers['x-service-signature'])
  })

  test.each([
    [undefined, 24],
    [{ grace_hours: 72 }, 72],
    [{ grace_hours: 0 }, 0],
  ])('a rotation with %j has a grace of %i hours', async (body, hours) => {
    const { world, receiver, path } = await givenWebhook(engine)
    await world.call(`${path}/rotate-secret`, { method: 'POST', ...(body ? { body } : {}) })
    const signatures = async () => {
      const count = receiver.received.length
      await world.call(`${path}/test`, { method: 'POST' })
      const sent = (await receiver.waitFor(count + 1)).at(-1)!
      return String(sent.headers['webhook-signature']).split(' ').length
    }

    world.pass(hours * 3_600_000 - 60_000)
    expect(await signatures()).toBe(hours === 0 ? 1 : 2)
    world.pass(60_000)
    expect(await signatures()).toBe(1)
  })

  test('an invalid time in the list of undelivered requests is refused together with other invalid parameters', async () => {
    const { world } = await givenWebhook(engine)
    const refused = await world.call('/webhook-requests?since=soon&status=LOST&limit=0')
    expect([refused.status, Object.keys(refused.body.errors).toSorted()]).toEqual([400, ['limit', 'since', 'status']])
    expect((await world.call('/webhook-requests?since=soon')).body.errors).toHaveProperty('since')
    expect((await world.call('/webhook-requests?status=LOST')).body.errors).toHaveProperty('status')
  })

  test('next_attempt is in the past while an attempt is in progress', async () => {
    const { world, receiver, path, groupId } = await givenWebhook(engine)
    receiver.hang()
    await events(world, groupId, 1)
    await receiver.waitFor(1)

    const { body } = await world.call(`${path}/requests`)
    expect(body.data).toMatchObject([{ status: 'PENDING', last_attempt: null }])
    expect(Date.parse(body.data[0].next_attempt)).toBeLessThanOrEqual(world.deps.clock.now())
  })
})

test('of an organization two replays run at a time, whatever the limits of its requests are', async () => {
  const { world, path, groupId } = await givenWebhook('sqlite', { sends: false })
  await events(world, groupId, 1_000) // the first replay has five more batches when the last one begins
  const replay = () => world.call(`${path}/replay`, { method: 'POST', body: { since: '2020-01-01T00:00:00Z' } })

  const responses = await Promise.all([replay(), replay(), replay(), replay(), replay()])

  expect(responses.map(({ status }) => status).sort()).toEqual([202, 202, 429, 429, 429])
  const refused = responses.find(({ status }) => status === 429)!
  expect([refused.headers['retry-after'], refused.body.error]).toEqual(['5', expect.stringContaining('2 replays')])
  expect((await replay()).status).toBe(202)
})
