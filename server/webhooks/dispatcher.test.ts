import { expect, test } from 'vitest'
import { systemContext } from '../context.ts'
import { RETRY_DELAYS_MS } from '../retry-schedule.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenDeliveries } from '../testing/deliveries.ts'
import { createTestRequest, retryRequest } from './manual-attempts.ts'
import { setActive } from './webhook-store.ts'

const HOUR_MS = 60 * 60_000
const JITTER_MS = 10_000
const ALL_RETRIES_MS = RETRY_DELAYS_MS.reduce((sum, delay) => sum + delay + JITTER_MS, 0)

onBothEngines('the dispatcher', (fresh) => {
  test('an event is sent once and immediately', async () => {
    const world = await givenDeliveries(await fresh())
    const webhook = await world.webhook()

    await world.events()
    await world.pass(48 * HOUR_MS)

    expect(webhook.sent()).toHaveLength(1)
    expect(await webhook.requests()).toMatchObject([{ status: 'DELIVERED', attempts: 1, retries: 0, status_code: 200 }])
  })

  test('a request is retried nine times, after the delays of the schedule, with the same bytes', async () => {
    const world = await givenDeliveries(await fresh())
    const webhook = await world.webhook()
    webhook.answers(500)

    await world.events()
    await world.pass(ALL_RETRIES_MS)

    const sent = webhook.sent()
    expect(sent).toHaveLength(10)
    for (const [index, delay] of RETRY_DELAYS_MS.entries()) {
      const waited = sent[index + 1]!.at - sent[index]!.at
      expect(waited).toBeGreaterThanOrEqual(delay)
      expect(waited).toBeLessThanOrEqual(delay + JITTER_MS)
    }
    expect(new Set(sent.map(({ id, body, headers }) => id + body + headers['X-Service-Signature'])).size).toBe(1)
    expect(new Set(sent.map(({ headers }) => headers['webhook-signature'])).size).toBe(10)
    for (const { at, headers } of sent) expect(headers['X-Webhook-Timestamp']).toBe(String(Math.floor(at / 1000)))
    expect(await webhook.requests()).toMatchObject([
      { status: 'FAILED', attempts: 10, retries: 9, next_attempt_at: null },
    ])
  })

  test('an internal error is a failed attempt, and the request is retried on schedule', async () => {
    const world = await givenDeliveries(await fresh())
    const webhook = await world.webhook()
    let tries = 0
    webhook.answers(() => {
      if (++tries === 1) throw new Error('a mistake')
      return 200
    })

    await world.events()
    await world.settle()
    const error = 'internal error while sending; see the server log'
    expect(await webhook.requests()).toMatchObject([{ status: 'RETRYING', attempts: 1, error }])
    await world.pass(ALL_RETRIES_MS)

    expect(await webhook.requests()).toMatchObject([{ status: 'DELIVERED', attempts: 2 }])
  })

  test('after the ninth retry the webhook is paused, and its owner is notified once with the reason', async () => {
    const world = await givenDeliveries(await fresh())
    const webhook = await world.webhook()
    webhook.answers(500)

    await world.events(3)
    await world.pass(ALL_RETRIES_MS)

    expect(await webhook.row()).toMatchObject({ state: 'paused', last_error: 'the endpoint responded with 500' })
    const mails = await world.mails()
    expect(mails).toHaveLength(1)
    expect(JSON.parse(mails[0]!.content)).toMatchObject({ kind: 'webhook_paused', url: webhook.url, statusCode: 500 })
  })

  test('a paused webhook queues its requests, and only the oldest is attempted, once an hour', async () => {
    const world = await givenDeliveries(await fresh())
    const webhook = await world.webhook()
    webhook.answers(410)
    await world.events(5)
    await world.settle()
    const before = webhook.sent().length
    expect(await webhook.row()).toMatchObject({ state: 'paused' })

    await world.events(5)
    await world.pass(3.5 * HOUR_MS)

    const probes = webhook.sent().slice(before)
    expect(probes).toHaveLength(3)
    const ids = (await webhook.requests()).map(({ id }) => id)
    expect(new Set(probes.map(({ id }) => id))).toEqual(new Set([ids[0]]))
    expect(await webhook.requests()).toHaveLength(10)
  })

  test('a successful probe resumes the webhook: queued requests are sent, oldest first, and the owner is notified', async () => {
    const world = await givenDeliveries(await fresh(), { limits: { total: 200, perWebhook: 1 } })
    const webhook = await world.webhook()
    webhook.answers(410)
    await world.events(4)
    await world.settle()
    await world.events(30)
    await world.settle()
    webhook.answers(200)
    const before = webhook.sent().length

    await world.pass(HOUR_MS)

    const ids = (await webhook.requests()).map(({ id }) => id)
    expect(
      webhook
        .sent()
        .slice(before)
        .map(({ id }) => id),
    ).toEqual(ids)
    expect(await webhook.row()).toMatchObject({ state: 'active', last_error: null })
    const kinds = (await world.mails()).map(({ content }) => JSON.parse(content).kind)
    expect(kinds).toEqual(['webhook_paused', 'webhook_active'])
  })

  test('a successful test resumes a paused webhook', async () => {
    const world = await givenDeliveries(await fresh())
    const webhook = await world.webhook()
    webhook.answers(410)
    await world.events(3)
    await world.settle()
    webhook.answers(204)

    const id = await createTestRequest(world.db, systemContext(world.organizationId, world.clock.now()), webhook.id)
    await world.settle()

    expect(webhook.sent().map((request) => request.id)).toContain(id)
    expect((await webhook.requests()).map(({ status }) => status)).toEqual(Array(4).fill('DELIVERED'))
  })

  test('a successful manual retry of a failed request resumes a paused webhook', async () => {
    const world = await givenDeliveries(await fresh())
    const webhook = await world.webhook()
    webhook.answers(500)
    await world.events()
    await world.pass(ALL_RETRIES_MS)
    await world.events(2)
    const [failed] = await webhook.requests()
    webhook.answers(200)

    await retryRequest(world.db, systemContext(world.organizationId, world.clock.now()), webhook.id, failed!.id)
    await world.settle()

    expect((await webhook.requests()).map(({ status }) => status)).toEqual(Array(3).fill('DELIVERED'))
    expect(await webhook.row()).toMatchObject({ state: 'active' })
  })

  test('a manual retry that fails changes only the log', async () => {
    const world = await givenDeliveries(await fresh())
    const webhook = await world.webhook()
    await world.events()
    await world.settle()
    const [request] = await webhook.requests()
    webhook.answers(503)

    await retryRequest(world.db, systemContext(world.organizationId, world.clock.now()), webhook.id, request!.id)
    await world.pass(48 * HOUR_MS)

    expect(webhook.sent()).toHaveLength(2)
    expect(await webhook.requests()).toMatchObject([
      { status: 'DELIVERED', attempts: 2, retries: 0, status_code: 503, delivered_at: request!.delivered_at },
    ])
  })

  test('a disabled webhook gets no new requests, and sends the queued ones when it is enabled', async () => {
    const world = await givenDeliveries(await fresh())
    const webhook = await world.webhook()
    webhook.answers(500)
    await world.events(2)
    await world.settle()
    await setActive(world.db, systemContext(world.organizationId, world.clock.now()), webhook.id, false)
    webhook.answers(200)
    await world.events(5)
    await world.pass(5 * HOUR_MS)
    expect(webhook.sent()).toHaveLength(2)

    await setActive(world.db, systemContext(world.organizationId, world.clock.now()), webhook.id, true)
    await world.settle()

    expect(webhook.sent()).toHaveLength(4)
    expect((await webhook.requests()).map(({ status }) => status)).toEqual(['DELIVERED', 'DELIVERED'])
  })

  test('a test request is sent to a disabled webhook', async () => {
    const world = await givenDeliveries(await fresh())
    const webhook = await world.webhook()
    await setActive(world.db, systemContext(world.organizationId, world.clock.now()), webhook.id, false)

    await createTestRequest(world.db, systemContext(world.organizationId, world.clock.now()), webhook.id)
    await world.settle()

    expect(webhook.sent()).toHaveLength(1)
  })

  test('Retry-After delays a retry, and never makes it earlier than the schedule', async () => {
    const world = await givenDeliveries(await fresh())
    const webhook = await world.webhook()
    webhook.answers({ status: 429, retryAfter: '3600' })
    await world.events()
    await world.settle()
    webhook.answers({ status: 503, retryAfter: '1' })

    await world.pass(2 * HOUR_MS)

    const [first, second, third] = webhook.sent()
    expect(second!.at - first!.at).toBeGreaterThanOrEqual(3_600_000)
    expect(third!.at - second!.at).toBeGreaterThanOrEqual(10 * 60_000)
    expect(third!.at - second!.at).toBeLessThanOrEqual(10 * 60_000 + JITTER_MS)
  })

  test('queued requests of a resumed webhook respect its limit of concurrent requests', async () => {
    const world = await givenDeliveries(await fresh(), { limits: { total: 200, perWebhook: 3 } })
    const webhook = await world.webhook()
    webhook.answers(410)
    await world.events()
    await world.settle()
    await world.events(100)
    webhook.answers(200)

    await world.pass(HOUR_MS)

    expect((await webhook.requests()).map(({ status }) => status)).toEqual(Array(101).fill('DELIVERED'))
    expect(world.maxInProgress()).toBeLessThanOrEqual(3)
  })

  test('one webhook has at most its limit of requests in progress', async () => {
    const world = await givenDeliveries(await fresh(), { limits: { total: 200, perWebhook: 3 } })
    await world.webhook()

    await world.events(200)
    await world.settle()

    expect(world.sent).toHaveLength(200)
    expect(world.maxInProgress()).toBeLessThanOrEqual(3)
  })
})
