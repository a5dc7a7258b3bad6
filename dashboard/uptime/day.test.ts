import { expect, test } from 'vitest'
import type { Uptime } from '#contract/uptime.ts'
import { dayText, stackOf, summaryText } from './day.ts'

const day = (date: string, seconds: Record<string, number>) => ({ date, seconds })

test('a failure of a minute is visible in the column of its day, and an unknown day has none', () => {
  expect(stackOf(day('2026-11-20', { VALID: 86_400 }))).toEqual([{ tone: 'good', share: 1 }])
  expect(stackOf(day('2026-11-20', { VALID: 86_340, MISMATCH: 60 }))).toEqual([
    { tone: 'bad', share: 0.45 },
    { tone: 'good', share: 0.55 },
  ])
  const mixed = stackOf(day('2026-11-20', { MISMATCH: 80_000, TIMEOUT: 3_200, NOT_CHECKED: 3_200 }))
  expect(mixed.map(({ tone }) => tone)).toEqual(['bad', 'warn'])
  expect(mixed.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1)
  expect(stackOf(day('2026-11-20', {}))).toEqual([])
})

test('a day is described in words: as times of a monitor, as shares of several', () => {
  expect(dayText(day('2026-11-20', { VALID: 86_400 }))).toMatch(/20: valid all the time$|20 Nov: valid all the time$/)
  expect(dayText(day('2026-11-20', { VALID: 82_800, NOT_CHECKED: 3_600 }))).toMatch(/valid 23 h, not checked 1 h$/)
  expect(dayText(day('2026-11-20', { VALID: 99, MISMATCH: 1 }), 3)).toMatch(/valid 99 %, mismatch 1 %$/)
  expect(dayText(day('2026-11-20', {}))).toMatch(/nothing is known$/)
})

test('the summary has no percentage before a day is known, and names the days of failures', () => {
  const uptime = (valid_percent: number | null, days: Uptime['days']): Uptime => ({
    ...{ since: '2026-11-19T00:00:00.000Z', until: '2026-11-20T00:00:00.000Z', known_seconds: 1 },
    ...{ valid_percent, days },
  })
  const days = [day('2026-11-19', {}), day('2026-11-20', { VALID: 80_000, MISMATCH: 6_400 })]
  expect(summaryText(uptime(null, days))).toMatch(/^Less than a day is known\. Failures on .*20.*\.$/)
  expect(summaryText(uptime(92.5926, days))).toMatch(/^Valid 92\.59 % in 1 of 2 days; the others are not known\. /)
  const valid = [day('2026-11-20', { VALID: 86_400 })]
  expect(summaryText(uptime(99.9999, valid))).toBe('Valid 99.99 % in 1 days. No failure.')
})
