import { describe, expect, test } from 'vitest'
import { givenBilling } from '../testing/billing.ts'

describe.each(['sqlite', 'postgres'] as const)('invoices and the portal (%s)', (engine) => {
  test('invoices are listed as Stripe last reported them', async () => {
    const { world, buy, stripe, sendEvent } = await givenBilling(engine)
    await buy('price_team')
    const list = async (query = '') => (await world.call(`/organization/invoices${query}`)).body
    expect(await list()).toEqual({ limit: 20, after: null, before: null, has_more: false, data: [] })

    stripe.invoice({ id: 'in_1', customer: 'cus_1' })
    await sendEvent('in_1', { type: 'invoice.finalized' })
    stripe.invoice({ id: 'in_1', customer: 'cus_1', status: 'paid', amount_paid: 1_190 })
    await sendEvent('in_1', { type: 'invoice.paid' })
    stripe.invoice({ id: 'in_2', customer: 'cus_1', created: 1_797_592_000, number: null, status: 'draft' })
    await sendEvent('in_2', { type: 'invoice.created' })
    stripe.invoice({ id: 'in_other', customer: 'cus_other' })
    await sendEvent('in_other', { type: 'invoice.paid' })

    const { data } = await list()
    expect(data).toMatchObject([{ id: 'in_1' }, { id: 'in_2', status: 'draft', number: null }])
    expect(data[0]).toEqual({
      id: 'in_1',
      number: 'A-0001',
      created: '2026-11-18T11:06:40.000Z',
      status: 'paid',
      currency: 'EUR',
      total: 1_190,
      amount_due: 1_190,
      amount_paid: 1_190,
      period_start: '2026-11-18T11:06:40.000Z',
      period_end: '2026-12-18T11:06:40.000Z',
      url: 'https://invoice.stripe.test/in_1',
      pdf: null,
    })
    const last = await list('?order_way=desc&limit=1')
    expect(last).toMatchObject({ has_more: true, data: [{ id: 'in_2' }] })
    expect((await list(`?order_way=desc&limit=1&after=${last.after}`)).data).toMatchObject([{ id: 'in_1' }])

    stripe.objects.delete('in_2')
    await sendEvent('in_2', { type: 'invoice.deleted' })
    expect((await list()).data).toHaveLength(1)
  })

  test('the portal opens after a purchase, and changed billing details are sent to Stripe', async () => {
    const { world, buy, stripe } = await givenBilling(engine)
    const portal = () => world.call('/organization/subscription/portal', { method: 'POST' })
    expect((await portal()).status).toBe(409)
    await buy('price_team')

    expect((await portal()).body.url).toMatch(/^https:\/\/billing\.stripe\.test\//)
    await world.call('/organization/billing', { method: 'PATCH', body: { name: 'Acme', vat: 'DE1' } })

    expect(stripe.calls.at(-1)).toMatchObject({
      path: '/v1/customers/cus_1',
      form: { name: 'Acme', 'metadata[vat]': 'DE1', address: '' },
    })
  })

  test('billing details are saved while Stripe is unavailable', async () => {
    const { world, buy, stripe } = await givenBilling(engine)
    await buy('price_team')
    await stripe.close()

    const { status } = await world.call('/organization/billing', { method: 'PATCH', body: { name: 'Acme' } })

    expect(status).toBe(200)
    expect((await world.call('/organization/billing')).body.name).toBe('Acme')
    const away = await world.call('/organization/subscription', { method: 'DELETE' })
    expect([away.status, away.headers['retry-after']]).toEqual([503, '60'])
  })

  test('only admin keys can buy, cancel and open the portal', async () => {
    const { world } = await givenBilling(engine)
    const { key } = await world.key('write')

    const responses = [
      await world.call('/organization/subscription', { key, method: 'PUT', body: { plan: 'team' } }),
      await world.call('/organization/subscription', { key, method: 'DELETE' }),
      await world.call('/organization/subscription/portal', { key, method: 'POST' }),
    ]

    expect(responses.map(({ status }) => status)).toEqual([403, 403, 403])
    for (const path of ['subscription', 'plans']) {
      expect((await world.call(`/organization/${path}`, { key })).status).toBe(200)
    }
  })
})
