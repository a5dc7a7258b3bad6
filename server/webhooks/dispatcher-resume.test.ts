import { expect, test } from 'vitest'
import { systemContext } from '../context.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenDeliveries } from '../testing/deliveries.ts'
import { replay } from '../testing/replay.ts'
import { createTestRequest, retryRequest } from './manual-attempts.ts'
import { getRequestDetails } from './request-store.ts'
import { setActive, updateWebhook } from './webhook-store.ts'

const HOUR_MS = 60 * 60_000

/** A webhook that a 410 has paused, with one request kept that was attempted and `kept` that were not. */
async function givenPaused(db: Parameters<typeof givenDeliveries>[0], kept = 3) {
  const world = await givenDeliveries(db, { limits: { total: 200, perWebhook: 1 } })
  const webhook = await world.webhook()
  webhook.answers(410)
  await world.events()
  await world.settle()
  await world.events(kept)
  await world.settle()
  expect(await webhook.row()).toMatchObject({ state: 'paused' })
  return { world, webhook, attempted: webhook.sent().length }
}

onBothEngines('a paused webhook', (fresh) => {
  test('is logged with the reason: 410 Gone, or failures for almost two days', async () => {
    const { world: gone } = await givenPaused(await fresh(), 0)
    expect(gone.logged.map(({ msg }) => msg)).toEqual([
      'A webhook is paused: its endpoint answered 410 Gone. Its requests are queued.',
    ])
    const world = await givenDeliveries(await fresh())
    const webhook = await world.webhook()
    webhook.answers(500)
    await world.events()
    await world.pass(48 * HOUR_MS)
    expect(world.logged.map(({ msg }) => msg)).toEqual([
      'A webhook is paused: its endpoint failed for almost two days. Its requests are queued.',
    ])
  })

  test('sends retries that are not due yet once it is active again, in the order of their creation', async () => {
    const world = await givenDeliveries(await fresh(), { limits: { total: 200, perWebhook: 1 } })
    const webhook = await world.webhook()
    webhook.answers(500)
    await world.events(3)
    await world.settle()
    webhook.answers(410)
    await world.events(1)
    await world.settle()
    await world.events(2)
    webhook.answers(200)
    const before = webhook.sent().length

    const id = await createTestRequest(world.db, systemContext(world.organizationId, world.clock.now()), webhook.id)
    await world.settle()

    const ids = (await webhook.requests()).map((request) => request.id).filter((each) => each !== id)
    expect(
      webhook
        .sent()
        .slice(before)
        .map((sent) => sent.id),
    ).toEqual([id, ...ids])
  })

  test('a request that fails again after the webhook is resumed waits for its schedule', async () => {
    const { world, webhook, attempted } = await givenPaused(await fresh(), 5)
    const bad = (await webhook.requests())[2]!.id
    webhook.answers(({ id }) => (id === bad ? 500 : 200))

    await world.pass(HOUR_MS + 60_000)

    expect(webhook.sent().length - attempted).toBe(6)
    const statuses = (await webhook.requests()).map(({ status }) => status)
    expect(statuses).toEqual(['DELIVERED', 'DELIVERED', 'RETRYING', 'DELIVERED', 'DELIVERED', 'DELIVERED'])
    await world.pass(6 * 60_000)
    expect(webhook.sent().at(-1)!.id).toBe(bad)
  })

  test.each(['its url changes', 'its headers change', 'it is enabled'])('is probed at once when %s', async (what) => {
    const { world, webhook, attempted } = await givenPaused(await fresh())
    const { db, keyring, organizationId, clock } = world
    webhook.answers(200)

    if (what === 'it is enabled') {
      await setActive(db, systemContext(organizationId, clock.now()), webhook.id, false)
      await world.settle()
      await setActive(db, systemContext(organizationId, clock.now()), webhook.id, true)
    } else {
      const change = what === 'its url changes' ? { url: webhook.url } : { headers: { 'X-New': '1' } }
      await updateWebhook(db, keyring, systemContext(organizationId, clock.now()), webhook.id, change, {
        webhooksPerGroup: 100,
      })
    }
    await world.settle()

    expect(webhook.sent().length - attempted).toBe(4)
    expect(await webhook.row()).toMatchObject({ state: 'active' })
  })

  test('is not probed while it is disabled, and a manual retry that succeeds resumes it', async () => {
    const { world, webhook, attempted } = await givenPaused(await fresh())
    await setActive(world.db, systemContext(world.organizationId, world.clock.now()), webhook.id, false)
    await world.pass(5 * HOUR_MS)
    expect(webhook.sent()).toHaveLength(attempted)
    webhook.answers(200)

    await createTestRequest(world.db, systemContext(world.organizationId, world.clock.now()), webhook.id)
    await world.pass(5 * HOUR_MS)
    expect(webhook.sent().length - attempted).toBe(1)
    expect(await webhook.row()).toMatchObject({ state: 'active', is_active: 0 })

    await setActive(world.db, systemContext(world.organizationId, world.clock.now()), webhook.id, true)
    await world.settle()
    expect(webhook.sent().length - attempted).toBe(5)
  })

  test('is not paused again by a probe that was in progress when it was resumed', async () => {
    const { world, webhook } = await givenPaused(await fresh())
    webhook.answers('hang')
    await world.pass(HOUR_MS)
    webhook.answers(200)
    await createTestRequest(world.db, systemContext(world.organizationId, world.clock.now()), webhook.id)
    await world.settle()
    expect(await webhook.row()).toMatchObject({ state: 'active' })

    await world.pass(HOUR_MS)

    expect(await webhook.row()).toMatchObject({ state: 'active' })
    expect((await webhook.requests()).map(({ status }) => status)).toEqual(Array(5).fill('DELIVERED'))
  })

  test('is probed with the next request if none is queued', async () => {
    const world = await givenDeliveries(await fresh())
    const webhook = await world.webhook()
    webhook.answers(410)
    await createTestRequest(world.db, systemContext(world.organizationId, world.clock.now()), webhook.id)
    await world.pass(10 * HOUR_MS)
    expect(webhook.sent()).toHaveLength(1)
    webhook.answers(200)

    await world.events()
    await world.pass(HOUR_MS)

    expect(await webhook.row()).toMatchObject({ state: 'active' })
    expect(webhook.sent()).toHaveLength(2)
  })

  test('a manual retry of a queued request changes neither its number of retries nor its next attempt', async () => {
    const world = await givenDeliveries(await fresh())
    const webhook = await world.webhook()
    webhook.answers(500)
    await world.events()
    await world.pass(6 * 60_000)
    const [before] = await webhook.requests()

    await retryRequest(world.db, systemContext(world.organizationId, world.clock.now()), webhook.id, before!.id)
    await world.settle()

    const [after] = await webhook.requests()
    expect(after).toMatchObject({ attempts: 3, retries: before!.retries, next_attempt_at: before!.next_attempt_at })
    await world.pass(11 * 60_000)
    expect(webhook.sent()).toHaveLength(4)
  })

  test('a replay is queued between due and later requests, and one of too many requests is refused', async () => {
    const world = await givenDeliveries(await fresh(), { limits: { total: 200, perWebhook: 1 } })
    const webhook = await world.webhook()
    await world.events(3)
    await world.settle()
    await setActive(world.db, systemContext(world.organizationId, world.clock.now()), webhook.id, false)
    world.clock.moveTo(world.clock.now() + 1_000)
    const { db, organizationId, clock } = world
    const period = { since: 0, until: clock.now() }
    await expect(replay(db, organizationId, webhook.id, period, clock.now(), 2)).rejects.toMatchObject({
      errors: { since: { code: 'period_too_large', params: { max: 2 } } },
    })
    expect(await db.selectFrom('due_requests').selectAll().execute()).toEqual([])

    expect(await replay(db, organizationId, webhook.id, period, clock.now())).toBe(3)
    world.clock.moveTo(world.clock.now() + 1_000)
    await setActive(db, systemContext(organizationId, clock.now()), webhook.id, true)
    await world.events(2)
    await world.settle()

    const ids = (await webhook.requests()).map(({ id }) => id)
    expect(webhook.sent().map(({ id }) => id)).toEqual([...ids.slice(0, 3), ...ids])
  })

  test('a request that is being attempted is not sent a second time by a retry or a replay', async () => {
    const world = await givenDeliveries(await fresh())
    const { db, organizationId, clock } = world
    const webhook = await world.webhook()
    webhook.answers('hang')
    await world.events()
    await world.settle()
    const [request] = await webhook.requests()

    await retryRequest(db, systemContext(organizationId, clock.now()), webhook.id, request!.id)
    await replay(db, organizationId, webhook.id, { since: 0, until: clock.now() + 1 }, clock.now())
    clock.moveTo(clock.now() + 30_000)
    await world.pass(2 * 60_000)

    expect(webhook.sent()).toHaveLength(1)
    expect(await webhook.requests()).toMatchObject([{ status: 'RETRYING', attempts: 1, retries: 0 }])
  })

  test('a repeated replay sends nothing more', async () => {
    const world = await givenDeliveries(await fresh())
    const { db, organizationId, clock } = world
    const webhook = await world.webhook()
    await world.events(5)
    await world.settle()
    await setActive(db, systemContext(organizationId, clock.now()), webhook.id, false)

    const period = { since: 0, until: clock.now() + 1 }
    for (let count = 0; count < 2; count++) {
      expect(await replay(db, organizationId, webhook.id, period, clock.now())).toBe(5)
    }
    await setActive(db, systemContext(organizationId, clock.now()), webhook.id, true)
    await world.settle()

    expect(webhook.sent()).toHaveLength(10)
  })

  test('the log has every attempt, or at least the latest 200', async () => {
    const world = await givenDeliveries(await fresh())
    const webhook = await world.webhook()
    webhook.answers(500)
    await world.events()
    await world.pass(40 * 60_000)
    const [{ id } = { id: '' }] = await webhook.requests()
    const read = () =>
      getRequestDetails(world.db, { organizationId: world.organizationId }, webhook.id, id, world.clock.now())

    const { attempts, retries } = await read()
    expect(retries).toBe(3)
    expect(attempts.map(({ number }) => number)).toEqual([1, 2, 3, 4])
    expect(attempts.map(({ attempted }) => Date.parse(attempted))).toEqual(webhook.sent().map(({ at }) => at))
    expect(attempts[0]).toMatchObject({
      status_code: 500,
      error: 'the endpoint responded with 500',
      response_body: 'answer 500',
    })

    await world.db.updateTable('webhook_requests').set({ attempts: 304 }).execute()
    const rows = Array.from({ length: 300 }, (_, index) => ({ number: index + 4, attempted_at: index, timings: '{}' }))
    await world.db
      .insertInto('webhook_attempts')
      .values(rows.map((row) => ({ ...row, request_id: id, organization_id: '' }))) // as the version before writes it
      .execute()
    const many = (await read()).attempts.map(({ number }) => number)
    expect([many.length, many[0], many.at(-1)]).toEqual([200, 105, 304])
  })
})
