import type { Engine } from '../database/engine.ts'
import type { Settings } from './server-process.ts'
import { STRIPE_KEY, STRIPE_WEBHOOK_SECRET, signedStripeEvent, startStripe } from './stripe.ts'
import { givenApp } from './test-app.ts'

const PLANS = JSON.stringify([
  { id: 'free', name: 'Free', limits: { monitors: 10 } },
  {
    id: 'team',
    name: 'Team',
    limits: { monitors: 100 },
    prices: [{ currency: 'EUR', amount: 900, interval: 'month', stripe_price: 'price_team' }],
  },
  {
    id: 'firm',
    name: 'Firm',
    limits: {},
    prices: [{ currency: 'EUR', amount: 9_900, interval: 'month', stripe_price: 'price_firm' }],
  },
])

/** A server that sells plans through a fake Stripe. */
export async function givenBilling(engine: Engine, settings: Settings = {}) {
  const stripe = await startStripe()
  const world = await givenApp(engine, {
    PLANS,
    STRIPE_SECRET_KEY: STRIPE_KEY,
    STRIPE_WEBHOOK_SECRET,
    STRIPE_API_BASE: stripe.url,
    ...settings,
  })
  let events = 0
  const choose = (plan: string) => world.call('/organization/subscription', { method: 'PUT', body: { plan } })
  /** Sends an event as Stripe does. Its object can be older than the current one. */
  const sendEvent = (
    objectId: string,
    {
      id = `evt_of_test_${++events}`,
      type = 'customer.subscription.updated',
      object,
    }: { id?: string; type?: string; object?: object } = {},
  ) => {
    const kind = objectId.startsWith('in_') ? 'invoice' : 'subscription'
    const sent = object ?? stripe.objects.get(objectId) ?? { id: objectId, object: kind }
    const signed = signedStripeEvent({ id, type, object: sent }, { at: world.deps.clock.now() })
    return world.call('/stripe/webhook', { method: 'POST', key: null, ...signed })
  }
  return {
    world,
    stripe,
    choose,
    sendEvent,
    plan: async () => (await world.call('/organization/subscription')).body,
    async buy(price: string) {
      await choose(price.replace('price_', ''))
      stripe.subscription({ id: 'sub_1', customer: 'cus_1', price })
      await sendEvent('sub_1')
    },
  }
}
