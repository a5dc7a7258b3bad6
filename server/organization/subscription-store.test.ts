import { expect, test } from 'vitest'
import { insertOrganization } from '../accounts/organizations.ts'
import type { Database } from '../database/database.ts'
import { parsePlans } from '../plan.ts'
import { onBothEngines } from '../testing/database.ts'
import { currentPlan } from './quota.ts'
import type { StripeSubscription } from './subscription.ts'
import { findSubscriptionRow, setPlan, storeCustomer, storeSubscription } from './subscription-store.ts'

const parsed = parsePlans(
  JSON.stringify([
    { id: 'free', name: 'Free', limits: {} },
    {
      id: 'team',
      name: 'Team',
      limits: {},
      prices: [{ currency: 'EUR', amount: 1, interval: 'month', stripe_price: 'p' }],
    },
  ]),
)
if (!parsed.ok) throw new Error(parsed.reason)
const { plans } = parsed
const subscription: StripeSubscription = {
  id: 'sub_1',
  customer: 'cus_1',
  status: 'active',
  price: 'p',
  quantity: 1,
  createdAt: 1_000,
  currentPeriodStart: 1_000,
  currentPeriodEnd: 2_000,
  cancelAt: null,
}

onBothEngines('storing a subscription', (fresh) => {
  test('an older state does not replace a newer one', async () => {
    const { store, row } = await givenCustomer(await fresh())

    expect(await store({ status: 'past_due' }, 20)).toBe('stored')
    expect(await store({ status: 'active' }, 10)).toBe('unchanged')

    expect(await row()).toMatchObject({ status: 'past_due', as_of: 20 })
  })

  test('the order of arrival does not change the result', async () => {
    const states = [
      [{ status: 'incomplete' }, 10],
      [{ status: 'active' }, 20],
      [{ status: 'active', cancelAt: 2_000 }, 30],
    ] as const
    for (const order of [
      [0, 1, 2],
      [2, 1, 0],
      [1, 0, 2],
      [2, 0, 1],
    ]) {
      const { store, row } = await givenCustomer(await fresh())
      for (const index of order) {
        const [change, asOf] = states[index]!
        await store(change, asOf)
      }
      expect(await row()).toMatchObject({ plan: 'team', status: 'active', cancel_at: 2_000 })
    }
  })

  test('an older state does not revive an ended subscription, even if its end arrives first', async () => {
    for (const isKnown of [true, false]) {
      const { store, row } = await givenCustomer(await fresh())
      if (isKnown) await store({}, 10)

      await store({ status: 'canceled' }, 30)
      await store({ status: 'active' }, 20)
      expect(await row()).toMatchObject({ plan: null, status: 'canceled' })

      await store({ id: 'sub_2', createdAt: 5_000 }, 25)
      expect(await row()).toMatchObject({ plan: 'team', stripe_subscription: 'sub_2' })
    }
  })

  test('of two subscriptions the newer one counts, in either order', async () => {
    for (const ids of [
      ['sub_1', 'sub_2'],
      ['sub_2', 'sub_1'],
    ]) {
      const { store, row } = await givenCustomer(await fresh())
      for (const id of ids) await store({ id, createdAt: id === 'sub_1' ? 1_000 : 5_000 }, 10)
      expect(await row()).toMatchObject({ stripe_subscription: 'sub_2' })
    }
  })

  test('the end of a subscription that is not current changes nothing', async () => {
    const { store, row } = await givenCustomer(await fresh())
    await store({ id: 'sub_2' }, 10)

    expect(await store({ id: 'sub_1', status: 'canceled' }, 20)).toBe('unchanged')

    expect(await row()).toMatchObject({ plan: 'team', stripe_subscription: 'sub_2' })
  })

  test('a plan from the operator stays when the end of an earlier subscription is reported again', async () => {
    const { store, setPlan, row } = await givenCustomer(await fresh())
    await store({}, 1_100)
    expect(await setPlan('team', 1_200)).toBe(false)
    await store({ status: 'canceled' }, 1_300)

    expect(await setPlan('team', 1_400)).toBe(true)
    expect(await store({ status: 'canceled' }, 1_500)).toBe('unchanged')
    expect(await row()).toMatchObject({ plan: 'team', status: 'active', stripe_customer: 'cus_1' })

    await store({ id: 'sub_2', createdAt: 1_600 }, 1_700)
    expect(await setPlan('free', 1_800)).toBe(false)
    expect(await row()).toMatchObject({ plan: 'team', stripe_subscription: 'sub_2' })
  })

  test('the operator can set and change the plan of an organization without payments', async () => {
    const db = await fresh()
    const { id } = await insertOrganization(db, { name: 'Acme', email: 'a@example.com', passwordHash: '' }, 0)

    await setPlan(db, { organizationId: id }, 'team', 10)
    expect(await currentPlan(db, plans, { organizationId: id })).toMatchObject({ id: 'team' })
    await setPlan(db, { organizationId: id }, 'free', 20)
    expect(await currentPlan(db, plans, { organizationId: id })).toMatchObject({ id: 'free' })
  })
})

async function givenCustomer(db: Database) {
  const { id } = await insertOrganization(db, { name: 'Acme', email: 'a@example.com', passwordHash: '' }, 0)
  await storeCustomer(db, { organizationId: id }, 'cus_1')
  return {
    store: (change: Partial<StripeSubscription>, asOf: number) =>
      storeSubscription(db, plans, { ...subscription, ...change }, asOf),
    setPlan: (plan: string, now: number) => setPlan(db, { organizationId: id }, plan, now),
    row: () => findSubscriptionRow(db, { organizationId: id }),
  }
}
