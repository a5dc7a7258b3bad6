import { expect, test } from 'vitest'
import { InvalidConfig, readConfig } from './config/config.ts'
import { freePlan, parsePlans, planOfPrice } from './plan.ts'

const price = { currency: 'EUR', amount: 900, interval: 'month', stripe_price: 'price_team' }
const free = { id: 'free', name: 'Free', limits: { monitors: 10 } }
const team = { id: 'team', name: 'Team', prices: [price], limits: {} }

test('an absent limit does not apply', () => {
  const parsed = parsePlans(JSON.stringify([free, team]))

  expect(parsed).toMatchObject({ ok: true, plans: [{ id: 'free', prices: [] }, { limits: { monitors: null } }] })
  if (!parsed.ok) return
  expect(freePlan(parsed.plans).id).toBe('free')
  expect(planOfPrice(parsed.plans, 'price_team')?.id).toBe('team')
  expect(planOfPrice(parsed.plans, 'price_other')).toBeUndefined()
})

test.each([
  ['invalid JSON', '{', 'is not JSON.'],
  ['no plan', '[]', '/ must not have fewer than 1 items'],
  ['an unknown limit', JSON.stringify([{ ...free, limits: { monitor: 1 } }]), '/0/limits'],
  ['a negative limit', JSON.stringify([{ ...free, limits: { monitors: -1 } }]), '/0/limits/monitors'],
  ['no free plan', JSON.stringify([team]), 'must have one plan without prices'],
  ['a repeated id', JSON.stringify([free, free]), 'names free twice'],
  ['a repeated price', JSON.stringify([free, { ...team, prices: [price, price] }]), 'names price_team twice'],
  ['an impossible frequency', JSON.stringify([{ ...free, limits: { min_frequency: 121 } }]), 'above 120 in the plan'],
])('plans with %s are refused with the position and the reason', (_what, text, reason) => {
  const parsed = parsePlans(text)

  expect(parsed.ok).toBe(false)
  if (!parsed.ok) expect(parsed.reason).toContain(reason)
})

test('settings that require each other are named in the error', () => {
  const wrong = { STRIPE_SECRET_KEY: 'sk_test_1', SMTP_URL: 'smtp://mail.example.com', PLANS: '[]' }
  const read = () => readConfig(wrong)

  expect(read).toThrow(InvalidConfig)
  expect(read).toThrow(/STRIPE_WEBHOOK_SECRET is required/)
  expect(read).toThrow(/MAIL_FROM is required/)
  expect(read).toThrow(/PLANS has an invalid plan/)
})
