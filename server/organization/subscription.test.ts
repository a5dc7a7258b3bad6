import { describe, expect, test } from 'vitest'
import { parsePlans } from '../plan.ts'
import { paymentStateOf, planChange, priceOf, type StripeSubscription } from './subscription.ts'

const price = (stripe_price: string, currency: string, interval: string) => ({
  amount: 900,
  stripe_price,
  currency,
  interval,
})
const parsed = parsePlans(
  JSON.stringify([
    { id: 'free', name: 'Free', limits: { monitors: 10 } },
    { id: 'partner', name: 'Partner', limits: {} },
    {
      id: 'team',
      name: 'Team',
      limits: {},
      prices: [price('m-eur', 'EUR', 'month'), price('m-usd', 'USD', 'month'), price('y-eur', 'EUR', 'year')],
    },
    { id: 'firm', name: 'Firm', limits: {}, prices: [price('f-eur', 'EUR', 'month')] },
  ]),
)
if (!parsed.ok) throw new Error(parsed.reason)
const { plans } = parsed
const [free, partner, team, firm] = plans as unknown as [
  (typeof plans)[0],
  (typeof plans)[0],
  (typeof plans)[0],
  (typeof plans)[0],
]

describe('the payment state of a subscription', () => {
  test.each([
    ['active', 'm-eur', { kind: 'paid', plan: team, status: 'active' }],
    ['trialing', 'y-eur', { kind: 'paid', plan: team, status: 'trialing' }],
    ['past_due', 'f-eur', { kind: 'paid', plan: firm, status: 'past_due' }],
    ['active', 'other', { kind: 'unknown_price' }],
    ['unpaid', 'm-eur', { kind: 'unpaid' }],
    ['paused', 'm-eur', { kind: 'unpaid' }],
    ['canceled', 'm-eur', { kind: 'ended' }],
    ['incomplete_expired', 'm-eur', { kind: 'incomplete' }],
    ['incomplete', 'm-eur', { kind: 'incomplete' }],
  ])('%s with the price %s', (status, paidPrice, state) => {
    const subscription = { status, price: paidPrice } as StripeSubscription

    expect(paymentStateOf(plans, subscription)).toEqual(state)
  })
})

describe('changing the plan', () => {
  const nothing = { subscription: null, cancelAt: null }
  const paid = { subscription: 'sub_1', cancelAt: null }
  test.each([
    ['free to paid: buy', team, { plan: free, ...nothing }, 'buy'],
    ['paid to another paid: confirm', firm, { plan: team, ...paid }, 'confirm'],
    ['paid to free: cancel', free, { plan: team, ...paid }, 'cancel'],
    ['the current plan: nothing', team, { plan: team, ...paid }, 'none'],
    [
      'the current plan after a cancellation: resume',
      team,
      { plan: team, subscription: 'sub_1', cancelAt: 5 },
      'resume',
    ],
    ['a plan that is no longer paid: confirm', team, { plan: free, ...paid }, 'confirm'],
    ['another free plan: not for sale', partner, { plan: free, ...nothing }, 'not_for_sale'],
    ['another free plan to the first: nothing', free, { plan: partner, ...nothing }, 'none'],
  ])('%s', (_title, target, current, change) => {
    expect(planChange(target, current, 'free')).toBe(change)
  })
})

test.each([
  [undefined, null, 'm-eur'],
  [undefined, 'USD', 'm-usd'],
  ['year', 'USD', 'y-eur'],
  ['month', 'GBP', 'm-eur'],
] as const)('the price for the interval %s and the currency %s is %s', (interval, currency, expected) => {
  expect(priceOf(team, { interval, currency })?.stripe_price).toBe(expected)
  expect(priceOf(firm, { interval: 'year', currency: null })).toBeUndefined()
})
