import { expect, test } from 'vitest'
import type { MonitorChecks } from '#contract/checks.ts'
import { checksText } from './checks-text.ts'

const IN_TIME: MonitorChecks = {
  ...{ since: '2026-10-22', until: '2026-11-21', tolerance_seconds: 5, due: 8640, done: 8640, late: 0, missed: 0 },
  ...{ withheld: 0, gap_count: 0, last_checked: null, longest_gap: null, gaps: [] },
}
const longest_gap = { since: '14:02', until: '14:31', seconds: 1740, missed: 5, withheld: 0 }
const text = (checks: Partial<MonitorChecks>) => checksText({ ...IN_TIME, ...checks }, (instant) => instant)

test('the checks of a monitor are summed up in a sentence, with the longest gap', () => {
  expect(text({ due: 0, done: 0 })).toBeUndefined()
  expect(text({})).toBe('All 8,640 checks since 2026-10-22 were made in time, at most 5 s late.')
  expect(text({ done: 8635, missed: 5, late: 1, gap_count: 1, longest_gap })).toBe(
    '8,635 of 8,640 checks made since 2026-10-22, 1 of them late. 1 gap: 14:02 – 14:31 (29 min).',
  )
  expect(text({ done: 8635, gap_count: 2, longest_gap: { ...longest_gap, until: null } })).toBe(
    '8,635 of 8,640 checks made since 2026-10-22. 2 gaps, the longest: 14:02 – now (29 min).',
  )
})
