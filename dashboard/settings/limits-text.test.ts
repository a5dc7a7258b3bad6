import { expect, test } from 'vitest'
import { limitsText } from './limits-text.ts'

test('what a plan allows is said in a line, and what has no limit too', () => {
  const limits = {
    monitors: 1_000,
    webhooks: 1,
    agents: 1,
    api_keys: null,
    min_frequency: 30,
    event_retention_days: null,
  }
  expect(limitsText(limits)).toBe(
    '1,000 monitors · 1 webhook · 1 person · unlimited API keys · checks every 30 minutes',
  )
  expect(limitsText({ ...limits, event_retention_days: 1 })).toMatch(/ · events for 1 day$/)
})
