import { expect, onTestFinished, test } from 'vitest'
import type { Event } from '#contract/events.ts'
import { onBothEngines } from '../testing/database.ts'
import { startReceiver } from '../testing/receiver.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'
import { eventually } from '../testing/test-server.ts'
import { runDispatcher } from './dispatcher.ts'
import { insertRequests } from './new-requests.ts'

/** The API, a real receiver, a webhook for it on the default group, and a dispatcher. */
async function givenWebhook(engine: Parameters<typeof givenApp>[0]) {
  const world = await givenApp(engine)
  const receiver = await startReceiver()
  onTestFinished(receiver.close)
  const stop = new AbortController()
  const signals = { stop: stop.signal, abandon: stop.signal }
  const loop = runDispatcher({ ...world.deps, process: 1 }, signals, { total: 20, perWebhook: 4 })
  onTestFinished(async () => {
    stop.abort()
    await loop
  })
  const body = { url: `${receiver.url}/hook`, groups: ['default'] }
  const { body: webhook } = await world.call('/webhooks', { method: 'POST', body })
  return { world, receiver, path: `/webhooks/${webhook.id}`, groupId: webhook.groups[0] as string }
}

let made = 0

async function events(world: TestApp, groupId: string, count: number) {
  const { id: organizationId } = await world.organization()
  const now = world.deps.clock.now()
  const domain = {
    domain: 'example.com',
    subdomain: '',
    record_type: 'A' as const,
    expected_value: [],
    is_exact_match: true,
  }
  const states = { old_state: 'VALID' as const, new_state: 'TIMEOUT' as const, incidence_count: 1 }
  const reported = Array.from({ length: count }, () => {
    const event: Event = {
      id: `evt_${made++}`,
      monitor_id: 'mon_1',
      occurred: '',
      previous_value: ['192.0.2.1'],
      ...states,
      domain,
    }
    return { organizationId, groupId, event }
  })
  await world.deps.db.transaction().execute((transaction) => insertRequests(transaction, reported, now))
  world.deps.wakeUps.requests.send()
}

onBothEngines('requests in the dashboard', (_fresh, engine) => {
  test('a replay takes one status or several, and the dashboard counts queued and dropped requests', async () => {
    const { world, receiver, path, groupId } = await givenWebhook(engine)
    const since = new Date(world.deps.clock.now() - 60_000).toISOString()
    await events(world, groupId, 2)
    await eventually(
      () => world.call(`${path}/requests?status=DELIVERED`),
      ({ body }) => body.data.length === 2,
    )
    receiver.answers(500)
    await events(world, groupId, 4)
    const { body: retrying } = await eventually(
      () => world.call(`${path}/requests?status=RETRYING`),
      ({ body }) => body.data.length === 4,
    )
    const { body: kept } = await world.call(`/dashboard/api${path}/kept`)
    expect(kept).toEqual({ waiting: 4, dropped: 0 })

    const replay = (status: unknown) => world.call(`${path}/replay`, { method: 'POST', body: { since, status } })
    expect((await replay('FAILED')).body).toEqual({ count: 0 })
    expect((await replay(['FAILED', 'NONE'])).status).toBe(400)
    expect((await replay(['FAILED', 'RETRYING', 'PENDING'])).body).toEqual({ count: 4 })
    const ids = retrying.data.map(({ id }: { id: string }) => id)
    const read = async () => (await world.call(`${path}/requests/${ids[0]}`)).body.attempts
    await eventually(read, (attempts) => attempts.length === 2)
  })

  test('the payload that the dashboard shows, as JSON, has exactly the bytes that were sent', async () => {
    const { world, receiver, path, groupId } = await givenWebhook(engine)
    await events(world, groupId, 1)
    const [received] = await receiver.waitFor(1)
    const { text, body } = await world.call(`${path}/requests/${received!.headers['webhook-id']}`)

    expect(JSON.stringify(body.payload)).toBe(received!.body.toString())
    expect(text).toContain(received!.body.toString())
  })

  test('an unknown webhook or request is a 404', async () => {
    const { world, path } = await givenWebhook(engine)
    for (const [method, rest] of [
      ['GET', '/requests/req_none'],
      ['POST', '/requests/req_none/retry'],
      ['GET', '/requests/%00'],
    ] as const) {
      expect((await world.call(`${path}${rest}`, { method })).status).toBe(404)
    }
    expect((await world.call('/webhooks/whk_none/test', { method: 'POST' })).status).toBe(404)
  })
})
