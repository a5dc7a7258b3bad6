import { describe, expect, test } from 'vitest'
import { parsePlans } from '../plan.ts'
import { changeTo, type PaidSubscription, priceOf, standingOf } from './subscription.ts'

const price = (stripe_price: string, currency: string, interval: string) => ({
  amount: 900,
  stripe_price,
  currency,
  interval,
})
const read = parsePlans(
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
if (!read.ok) throw new Error(read.reason)
const { plans } = read
const [free, partner, team, firm] = plans as unknown as [
  (typeof plans)[0],
  (typeof plans)[0],
  (typeof plans)[0],
  (typeof plans)[0],
]

describe('what a subscription at the provider means', () => {
  test.each([
    ['active', 'm-eur', { kind: 'paid', plan: team, status: 'active' }],
    ['trialing', 'y-eur', { kind: 'paid', plan: team, status: 'trialing' }],
    ['past_due', 'f-eur', { kind: 'paid', plan: firm, status: 'past_due' }],
    ['active', 'other', { kind: 'unknown_price' }],
    ['unpaid', 'm-eur', { kind: 'unpaid' }],
    ['paused', 'm-eur', { kind: 'unpaid' }],
    ['canceled', 'm-eur', { kind: 'ended' }],
    ['incomplete_expired', 'm-eur', { kind: 'not_begun' }],
    ['incomplete', 'm-eur', { kind: 'not_begun' }],
  ])('%s for %s', (status, paidPrice, standing) => {
    const found = { status, price: paidPrice } as PaidSubscription

    expect(standingOf(plans, found)).toEqual(standing)
  })
})

describe('how an organization comes to a plan', () => {
  const nothing = { subscription: null, cancelAt: null }
  const paid = { subscription: 'sub_1', cancelAt: null }
  test.each([
    ['from free to a paid one: it buys', team, { plan: free, ...nothing }, 'buy'],
    ['from one paid to another: a person confirms', firm, { plan: team, ...paid }, 'confirm'],
    ['from paid to free: it cancels', free, { plan: team, ...paid }, 'cancel'],
    ['to what it has: nothing', team, { plan: team, ...paid }, 'none'],
    [
      'to what it has, after cancelling: it resumes',
      team,
      { plan: team, subscription: 'sub_1', cancelAt: 5 },
      'resume',
    ],
    ['to what it does not pay for any more: a person confirms', team, { plan: free, ...paid }, 'confirm'],
    [
      'to a free one that is not the first: the operator assigns it',
      partner,
      { plan: free, ...nothing },
      'not_for_sale',
    ],
    ['from that one to the first: nothing is to be cancelled', free, { plan: partner, ...nothing }, 'none'],
  ])('%s', (_what, target, current, change) => {
    expect(changeTo(target, current, 'free')).toBe(change)
  })
})

test.each([
  [undefined, null, 'm-eur'],
  [undefined, 'USD', 'm-usd'],
  ['year', 'USD', 'y-eur'],
  ['month', 'GBP', 'm-eur'],
] as const)('of the interval %s in %s the price is %s', (interval, currency, expected) => {
  expect(priceOf(team, { interval, currency })?.stripe_price).toBe(expected)
  expect(priceOf(firm, { interval: 'year', currency: null })).toBeUndefined()
})
