import { describe, expect, test } from 'vitest'
import type { Engine } from '../database/engine.ts'
import { givenAgent } from '../testing/accounts.ts'
import { givenApp } from '../testing/test-app.ts'

const LIMITS = {
  monitors: 3,
  min_frequency: 15,
  event_retention_days: 30,
  webhooks: 1,
  agents: 2,
  api_keys: 3,
}

describe.each(['sqlite', 'postgres'] as const)('plan limits (%s)', (engine) => {
  test('a self-hosted server has one plan without payment, and limits only webhooks', async () => {
    const world = await givenApp(engine)
    const none = { monitors: null, min_frequency: null, event_retention_days: null }
    const limits = { ...none, webhooks: 1_000, agents: null, api_keys: null }

    const { body: plans } = await world.call('/organization/plans')
    const { body: subscription } = await world.call('/organization/subscription')

    expect(plans).toEqual({
      limit: 1,
      after: null,
      before: null,
      has_more: false,
      data: [{ id: 'self-hosted', name: 'Self-hosted', prices: [], limits }],
    })
    expect(subscription).toEqual({
      plan: 'self-hosted',
      status: 'active',
      quantity: 1,
      current_period_start: null,
      current_period_end: null,
      cancel_at: null,
      limits,
      usage: { monitors: 0, min_frequency: null, event_retention_days: null, webhooks: 0, agents: 1, api_keys: 1 },
    })
    const choose = (plan: string) => world.call('/organization/subscription', { method: 'PUT', body: { plan } })
    expect((await choose('self-hosted')).status).toBe(200)
    expect((await choose('team')).body.errors).toEqual({ plan: 'must be self-hosted.' })
    expect((await world.call('/organization/subscription', { method: 'DELETE' })).status).toBe(409)
    expect((await world.call('/stripe/webhook', { method: 'POST', key: null, body: {} })).status).toBe(404)
  })

  test('the subscription shows the usage', async () => {
    const { world, monitor } = await givenSmall(engine)
    await monitor({ frequency: 30 })
    await monitor({ frequency: 20 })
    await world.call('/agents/invitations', { method: 'POST', body: { email: 'ada@example.com' } })
    await world.call('/organization', { method: 'PATCH', body: { settings: { event_retention_days: 7 } } })

    const { usage, limits } = (await world.call('/organization/subscription')).body

    expect(limits).toEqual(LIMITS)
    expect(usage).toEqual({
      monitors: 2,
      min_frequency: 20,
      event_retention_days: 7,
      webhooks: 0,
      agents: 2,
      api_keys: 1,
    })
  })

  test('a monitor above the limit is refused with usage and limit, and is allowed after a deletion', async () => {
    const { world, monitor } = await givenSmall(engine)
    const ids = []
    for (let count = 0; count < 3; count++) ids.push((await monitor()).body.id)

    const refused = await monitor()
    expect(refused.status).toBe(402)
    expect(refused.body).toEqual({
      code: 402,
      error:
        'Plan limit reached: 3 of 3 monitors are in use on the plan Small, and this request adds 1. Delete monitors or change the plan.',
    })
    await world.call(`/monitors/${ids[0]}`, { method: 'DELETE' })
    expect((await monitor()).status).toBe(201)
  })

  test('a bulk request needs quota for all its monitors, but not for skipped ones', async () => {
    const { world, body, monitor } = await givenSmall(engine)
    const bulk = (count: number, more: object = {}) => {
      const monitors = Array.from({ length: count }, (_, index) => ({ ...body, full_domain: `${index}.example.com` }))
      return world.call('/monitors/bulk', { method: 'POST', body: { monitors, ...more } })
    }

    expect((await bulk(4, { group: 'new-group' })).status).toBe(402)
    expect((await world.call('/monitors')).body.data).toEqual([])
    expect((await world.call('/groups/new-group')).status).toBe(404)
    expect((await bulk(3)).status).toBe(201)
    expect((await bulk(3, { ignore: true })).status).toBe(201)
    expect((await monitor()).status).toBe(402)
  })

  test('concurrent requests cannot exceed a limit', async () => {
    const { monitor, webhook } = await givenSmall(engine)
    await monitor()
    await monitor()
    const sixTimes = (make: typeof webhook) => Promise.all(Array.from({ length: 6 }, () => make()))

    for (const make of [monitor, webhook]) {
      const statuses = (await sixTimes(make)).map(({ status }) => status)
      expect(statuses.sort()).toEqual([201, 402, 402, 402, 402, 402])
    }
  })

  test('the frequency defaults to the minimum of the plan, and a lower one is refused', async () => {
    const { world, monitor, body } = await givenSmall(engine)
    const frequencyOf = async (id: string) => (await world.call(`/monitors/${id}?include=frequency`)).body.frequency
    const { id } = (await monitor()).body
    expect(await frequencyOf(id)).toBe(15)

    const change = (path: string, frequency: number) => world.call(path, { method: 'PATCH', body: { frequency } })
    const responses = [
      await monitor({ frequency: 5 }),
      await world.call('/monitors/bulk', { method: 'POST', body: { monitors: [body], frequency: 10 } }),
      await change(`/monitors/${id}`, 14),
      await change('/groups/default/monitors', 5),
    ]
    expect(responses.map(({ status }) => status)).toEqual([402, 402, 402, 402])
    expect(responses[0]!.body.error).toBe(
      'Plan limit reached: the plan Small allows a check every 15 minutes, not every 5. Use 15 or more, or change the plan.',
    )
    expect(await frequencyOf(id)).toBe(15)

    expect((await change(`/monitors/${id}`, 15)).status).toBe(200)
    const created = await world.call('/monitors/bulk', { method: 'POST', body: { monitors: [body], frequency: 60 } })
    expect(await frequencyOf(created.body[0].id)).toBe(60)
  })

  test('webhooks, agents with invitations, and retention are limited', async () => {
    const { world, webhook } = await givenSmall(engine)
    const invite = (email: string) => world.call('/agents/invitations', { method: 'POST', body: { email } })
    const keep = (event_retention_days: number) =>
      world.call('/organization', { method: 'PATCH', body: { settings: { event_retention_days } } })

    expect([(await webhook()).status, (await webhook()).status]).toEqual([201, 402])
    expect([(await invite('a@example.com')).status, (await invite('b@example.com')).status]).toEqual([201, 402])
    expect([(await keep(30)).status, (await keep(31)).status]).toEqual([200, 402])
    expect(await world.deps.db.selectFrom('mails').selectAll().execute()).toHaveLength(1)
  })

  test('resources above a lowered limit stay', async () => {
    const { world } = await givenSmall(engine)
    for (const name of ['Ada', 'Bob', 'Cleo']) await givenAgent(world, { name })

    const [agent] = (await world.call('/agents?order_way=desc')).body.data
    const promoted = await world.call(`/agents/${agent.id}`, { method: 'PATCH', body: { role: 'admin' } })

    expect(promoted.status).toBe(200)
  })
})

async function givenSmall(engine: Engine) {
  const world = await givenApp(engine, { PLANS: JSON.stringify([{ id: 'small', name: 'Small', limits: LIMITS }]) })
  const body = { full_domain: 'www.example.com', record_type: 'A', expected_value: '192.0.2.1' }
  return {
    world,
    body,
    webhook: () => world.call('/webhooks', { method: 'POST', body: { url: 'http://127.0.0.1:8/' } }),
    monitor: (more: object = {}) => world.call('/monitors', { method: 'POST', body: { ...body, ...more } }),
  }
}
