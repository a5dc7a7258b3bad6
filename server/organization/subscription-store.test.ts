import { expect, test } from 'vitest'
import { insertOrganization } from '../accounts/organizations.ts'
import type { Database } from '../database/database.ts'
import { parsePlans } from '../plan.ts'
import { onBothEngines } from '../testing/database.ts'
import { currentPlan } from './quota.ts'
import type { PaidSubscription } from './subscription.ts'
import { findSubscriptionRow, followSubscription, givePlan, noteCustomer } from './subscription-store.ts'

const read = parsePlans(
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
if (!read.ok) throw new Error(read.reason)
const { plans } = read
const found: PaidSubscription = {
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

onBothEngines('following a subscription', (fresh) => {
  test('an answer that was asked for earlier does not replace one that was asked for later', async () => {
    const { follow, row } = await givenCustomer(await fresh())

    expect(await follow({ status: 'past_due' }, 20)).toBe('recorded')
    expect(await follow({ status: 'active' }, 10)).toBe('unchanged')

    expect(await row()).toMatchObject({ status: 'past_due', as_of: 20 })
  })

  test('answers in any order end in the same', async () => {
    const answers = [
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
      const { follow, row } = await givenCustomer(await fresh())
      for (const index of order) {
        const [change, asOf] = answers[index]!
        await follow(change, asOf)
      }
      expect(await row()).toMatchObject({ plan: 'team', status: 'active', cancel_at: 2_000 })
    }
  })

  test('an earlier answer about one that ended does not bring it back, even when its end was the first that arrived', async () => {
    for (const isKnown of [true, false]) {
      const { follow, row } = await givenCustomer(await fresh())
      if (isKnown) await follow({}, 10)

      await follow({ status: 'canceled' }, 30)
      await follow({ status: 'active' }, 20)
      expect(await row()).toMatchObject({ plan: null, status: 'canceled' })

      await follow({ id: 'sub_2', createdAt: 5_000 }, 25)
      expect(await row()).toMatchObject({ plan: 'team', stripe_subscription: 'sub_2' })
    }
  })

  test('of two subscriptions the newer one counts, whichever is reported first', async () => {
    for (const ids of [
      ['sub_1', 'sub_2'],
      ['sub_2', 'sub_1'],
    ]) {
      const { follow, row } = await givenCustomer(await fresh())
      for (const id of ids) await follow({ id, createdAt: id === 'sub_1' ? 1_000 : 5_000 }, 10)
      expect(await row()).toMatchObject({ stripe_subscription: 'sub_2' })
    }
  })

  test('the end of another subscription than the current one changes nothing', async () => {
    const { follow, row } = await givenCustomer(await fresh())
    await follow({ id: 'sub_2' }, 10)

    expect(await follow({ id: 'sub_1', status: 'canceled' }, 20)).toBe('unchanged')

    expect(await row()).toMatchObject({ plan: 'team', stripe_subscription: 'sub_2' })
  })

  test('a plan that the operator gives stays when a subscription that ended before is reported again', async () => {
    const { follow, give, row } = await givenCustomer(await fresh())
    await follow({}, 1_100)
    expect(await give('team', 1_200)).toBe(false)
    await follow({ status: 'canceled' }, 1_300)

    expect(await give('team', 1_400)).toBe(true)
    expect(await follow({ status: 'canceled' }, 1_500)).toBe('unchanged')
    expect(await row()).toMatchObject({ plan: 'team', status: 'active', stripe_customer: 'cus_1' })

    await follow({ id: 'sub_2', createdAt: 1_600 }, 1_700)
    expect(await give('free', 1_800)).toBe(false)
    expect(await row()).toMatchObject({ plan: 'team', stripe_subscription: 'sub_2' })
  })

  test('a plan can be given to an organization that never had to do with payments, and another later', async () => {
    const db = await fresh()
    const { id } = await insertOrganization(db, { name: 'Acme', email: 'a@example.com', passwordHash: '' }, 0)

    await givePlan(db, { organizationId: id }, 'team', 10)
    expect(await currentPlan(db, plans, { organizationId: id })).toMatchObject({ id: 'team' })
    await givePlan(db, { organizationId: id }, 'free', 20)
    expect(await currentPlan(db, plans, { organizationId: id })).toMatchObject({ id: 'free' })
  })
})

async function givenCustomer(db: Database) {
  const { id } = await insertOrganization(db, { name: 'Acme', email: 'a@example.com', passwordHash: '' }, 0)
  await noteCustomer(db, { organizationId: id }, 'cus_1')
  return {
    follow: (change: Partial<PaidSubscription>, asOf: number) =>
      followSubscription(db, plans, { ...found, ...change }, asOf),
    give: (plan: string, now: number) => givePlan(db, { organizationId: id }, plan, now),
    row: () => findSubscriptionRow(db, { organizationId: id }),
  }
}
