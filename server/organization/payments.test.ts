import { describe, expect, test } from 'vitest'
import { givenBilling } from '../testing/billing.ts'
import { signedStripeEvent } from '../testing/stripe.ts'

const MINUTE_MS = 60_000

describe.each(['sqlite', 'postgres'] as const)('payments (%s)', (engine) => {
  test('two concurrent requests create one customer and one page', async () => {
    const { choose } = await givenBilling(engine)

    const [first, second] = await Promise.all([choose('team'), choose('team')])

    expect(first.body.url).toBe(second.body.url)
  })

  test('a repeated event changes nothing and causes no request to Stripe', async () => {
    const { choose, stripe, sendEvent, plan } = await givenBilling(engine)
    await choose('team')
    stripe.subscription({ id: 'sub_1', customer: 'cus_1', price: 'price_team' })
    await sendEvent('sub_1', { id: 'evt_1' })
    stripe.subscription({ id: 'sub_1', customer: 'cus_1', price: 'price_firm' })

    await sendEvent('sub_1', { id: 'evt_1' })

    expect(await plan()).toMatchObject({ plan: 'team' })
    expect(stripe.calls.filter(({ method }) => method === 'GET')).toHaveLength(1)
  })

  test('events in the wrong order end in the current state at Stripe', async () => {
    const { choose, stripe, sendEvent, plan } = await givenBilling(engine)
    await choose('team')
    const begun = {
      ...stripe.subscription({ id: 'sub_1', customer: 'cus_1', price: 'price_team', status: 'incomplete' }),
    }
    stripe.subscription({ id: 'sub_1', customer: 'cus_1', price: 'price_team', status: 'active' })

    await sendEvent('sub_1', { type: 'customer.subscription.updated' })
    await sendEvent('sub_1', { type: 'customer.subscription.created', object: begun })

    expect(await plan()).toMatchObject({ plan: 'team', status: 'active' })
  })

  test('a cancelled plan stays until the end of its period, and can be resumed until then', async () => {
    const { world, buy, choose, stripe, sendEvent, plan } = await givenBilling(engine)
    await buy('price_team')
    const cancel = () => world.call('/organization/subscription', { method: 'DELETE' })

    const cancelled = await cancel()
    expect(cancelled.status).toBe(200)
    expect(cancelled.body).toMatchObject({ plan: 'team', cancel_at: '2026-12-18T11:06:40.000Z' })
    expect(await plan()).toMatchObject({ cancel_at: null })
    await sendEvent('sub_1')
    expect(await plan()).toMatchObject({ plan: 'team', status: 'active', cancel_at: '2026-12-18T11:06:40.000Z' })

    expect((await choose('team')).body).toMatchObject({ plan: 'team', cancel_at: null })
    await sendEvent('sub_1')
    expect(await plan()).toMatchObject({ plan: 'team', cancel_at: null })

    expect((await choose('free')).body.cancel_at).toBe('2026-12-18T11:06:40.000Z')
    stripe.subscription({ id: 'sub_1', customer: 'cus_1', price: 'price_team', status: 'canceled' })
    await sendEvent('sub_1', { type: 'customer.subscription.deleted' })
    expect(await plan()).toMatchObject({ plan: 'free', status: 'canceled', current_period_end: null, cancel_at: null })
    expect((await cancel()).status).toBe(409)
  })
})

describe('payments', () => {
  const engine = 'sqlite'

  test('choosing a paid plan returns the URL of a page and does not change the plan', async () => {
    const { world, stripe, choose, plan } = await givenBilling(engine)
    await world.call('/organization/billing', { method: 'PATCH', body: { email: 'pay@example.com', country: 'de' } })
    const { id } = await world.organization()

    const { status, body } = await choose('team')

    expect(status).toBe(202)
    expect(body).toEqual({ url: expect.stringMatching(/^https:\/\/checkout\.stripe\.test\/cs_test_/) })
    expect(await plan()).toMatchObject({ plan: 'free', status: 'active' })
    const [created, updated, session] = stripe.calls
    expect(created).toMatchObject({ path: '/v1/customers', form: { 'metadata[organization_id]': id } })
    expect(updated?.form).toMatchObject({ email: 'pay@example.com', 'address[country]': 'DE' })
    expect(session?.form).toMatchObject({
      mode: 'subscription',
      customer: 'cus_1',
      client_reference_id: id,
      'line_items[0][price]': 'price_team',
      'line_items[0][quantity]': '1',
      'subscription_data[metadata][organization_id]': id,
      cancel_url: 'http://localhost:8080/dashboard/billing',
    })
  })

  test('the signed event of a payment changes the plan', async () => {
    const { choose, stripe, sendEvent, plan } = await givenBilling(engine)
    await choose('team')
    stripe.subscription({ id: 'sub_1', customer: 'cus_1', price: 'price_team' })

    expect((await sendEvent('sub_1')).status).toBe(200)

    expect(await plan()).toMatchObject({
      plan: 'team',
      status: 'active',
      quantity: 1,
      current_period_start: '2026-11-18T11:06:40.000Z',
      current_period_end: '2026-12-18T11:06:40.000Z',
      cancel_at: null,
      limits: { monitors: 100 },
    })
  })

  test('an event with a missing, wrong or old signature changes nothing', async () => {
    const { world, stripe, choose, plan } = await givenBilling(engine)
    await choose('team')
    const object = stripe.subscription({ id: 'sub_1', customer: 'cus_1', price: 'price_team' })
    const event = { id: 'evt_1', type: 'customer.subscription.created', object }
    const at = world.deps.clock.now()
    const signed = signedStripeEvent(event, { at })
    const send = (request: { raw: string; headers?: Record<string, string> }) =>
      world.call('/stripe/webhook', { method: 'POST', key: null, ...request })

    const responses = [
      await send({ raw: signed.raw }),
      await send(signedStripeEvent(event, { at, secret: 'whsec_of_another' })),
      await send({ ...signed, raw: signed.raw.replace('price_team', 'price_firm') }),
      await send(signedStripeEvent(event, { at: at - 6 * MINUTE_MS })),
    ]

    expect(responses.map(({ status }) => status)).toEqual([400, 400, 400, 400])
    expect(await plan()).toMatchObject({ plan: 'free' })
    expect(stripe.calls.filter(({ method }) => method === 'GET')).toEqual([])
    expect((await send(signed)).status).toBe(200)
  })

  test('a failed payment is shown, and an unpaid plan has the limits of the free plan', async () => {
    const { buy, stripe, sendEvent, plan } = await givenBilling(engine)
    await buy('price_team')

    stripe.subscription({ id: 'sub_1', customer: 'cus_1', price: 'price_team', status: 'past_due' })
    await sendEvent('sub_1')
    expect(await plan()).toMatchObject({ plan: 'team', status: 'past_due' })

    stripe.subscription({ id: 'sub_1', customer: 'cus_1', price: 'price_team', status: 'unpaid' })
    await sendEvent('sub_1')
    expect(await plan()).toMatchObject({ plan: 'free', status: 'past_due', limits: { monitors: 10 } })

    stripe.subscription({ id: 'sub_1', customer: 'cus_1', price: 'price_team', status: 'active' })
    await sendEvent('sub_1')
    expect(await plan()).toMatchObject({ plan: 'team', status: 'active' })
  })

  test('a change to another paid plan is confirmed on the portal, and the event changes the plan', async () => {
    const { buy, choose, stripe, sendEvent, plan } = await givenBilling(engine)
    await buy('price_team')

    const { status, body } = await choose('firm')

    expect(status).toBe(202)
    expect(body.url).toMatch(/^https:\/\/billing\.stripe\.test\//)
    expect(stripe.calls.at(-1)?.form).toMatchObject({
      'flow_data[type]': 'subscription_update_confirm',
      'flow_data[subscription_update_confirm][subscription]': 'sub_1',
      'flow_data[subscription_update_confirm][items][0][id]': 'si_sub_1',
      'flow_data[subscription_update_confirm][items][0][price]': 'price_firm',
    })
    expect(await plan()).toMatchObject({ plan: 'team' })
    stripe.subscription({ id: 'sub_1', customer: 'cus_1', price: 'price_firm' })
    await sendEvent('sub_1')
    expect(await plan()).toMatchObject({ plan: 'firm' })
  })

  test('the end of an old subscription does not end the new one', async () => {
    const { buy, stripe, sendEvent, plan } = await givenBilling(engine)
    await buy('price_team')
    stripe.subscription({ id: 'sub_2', customer: 'cus_1', price: 'price_firm', created: 1_795_000_500 })
    await sendEvent('sub_2')
    stripe.subscription({ id: 'sub_1', customer: 'cus_1', price: 'price_team', status: 'canceled' })

    await sendEvent('sub_1', { type: 'customer.subscription.deleted' })

    expect(await plan()).toMatchObject({ plan: 'firm', status: 'active' })
  })

  test('events of unknown customers, unknown prices and other objects are accepted and change nothing', async () => {
    const { buy, stripe, sendEvent, plan } = await givenBilling(engine)
    await buy('price_team')
    stripe.subscription({ id: 'sub_other', customer: 'cus_other', price: 'price_firm' })
    stripe.subscription({ id: 'sub_1', customer: 'cus_1', price: 'price_of_last_year' })

    const responses = [
      await sendEvent('sub_other'),
      await sendEvent('sub_1'),
      await sendEvent('sub_gone'),
      await sendEvent('pm_1', { type: 'payment_method.attached', object: { id: 'pm_1', object: 'payment_method' } }),
    ]

    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(await plan()).toMatchObject({ plan: 'team' })
  })

  test('while Stripe is unavailable, an event is a 503, and its retry changes the plan', async () => {
    const { choose, stripe, sendEvent, plan } = await givenBilling(engine)
    await choose('team')
    stripe.subscription({ id: 'sub_1', customer: 'cus_1', price: 'price_team' })
    stripe.fails(500, 2)

    const away = await sendEvent('sub_1', { id: 'evt_1' })
    expect([away.status, away.headers['retry-after']]).toEqual([503, '60'])
    expect(await plan()).toMatchObject({ plan: 'free' })

    expect((await sendEvent('sub_1', { id: 'evt_1' })).status).toBe(200)
    expect(await plan()).toMatchObject({ plan: 'team' })
  })
})
