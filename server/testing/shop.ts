import type { Engine } from '../database/database.ts'
import { givenApp } from './app-world.ts'
import type { Settings } from './server-process.ts'
import { STRIPE_KEY, STRIPE_WEBHOOK_SECRET, signedReport, startStripe } from './stripe.ts'

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

/** A server that sells plans, and a stand-in of Stripe that it sells them through. */
export async function givenShop(engine: Engine, settings: Settings = {}) {
  const stripe = await startStripe()
  const world = await givenApp(engine, {
    PLANS,
    STRIPE_SECRET_KEY: STRIPE_KEY,
    STRIPE_WEBHOOK_SECRET,
    STRIPE_API_BASE: stripe.url,
    ...settings,
  })
  let reports = 0
  const choose = (plan: string) => world.call('/organization/subscription', { method: 'PUT', body: { plan } })
  /** Tells that something changed, as Stripe does: what is in the report can be older than what it is now. */
  const report = (
    about: string,
    {
      id = `evt_of_test_${++reports}`,
      type = 'customer.subscription.updated',
      object,
    }: { id?: string; type?: string; object?: object } = {},
  ) => {
    const kind = about.startsWith('in_') ? 'invoice' : 'subscription'
    const reported = object ?? stripe.things.get(about) ?? { id: about, object: kind }
    const signed = signedReport({ id, type, object: reported }, { at: world.deps.clock.now() })
    return world.call('/stripe/webhook', { method: 'POST', key: null, ...signed })
  }
  return {
    world,
    stripe,
    choose,
    report,
    plan: async () => (await world.call('/organization/subscription')).body,
    async buy(price: string) {
      await choose(price.replace('price_', ''))
      stripe.subscription({ id: 'sub_1', customer: 'cus_1', price })
      await report('sub_1')
    },
  }
}
