import { expect, test } from 'vitest'
import { limitsText } from './limits-text.ts'

test('one line lists the limits of a plan, with what is unlimited', () => {
  const limits = {
    monitors: 1_000,
    webhooks: 1,
    agents: 1,
    api_keys: null,
    min_frequency: 30,
    event_retention_days: null,
  }
  expect(limitsText(limits)).toBe(
    '1,000 monitors · 1 webhook · 1 team member · unlimited API keys · checks every 30 minutes',
  )
  expect(limitsText({ ...limits, event_retention_days: 1 })).toMatch(/ · events for 1 day$/)
})
