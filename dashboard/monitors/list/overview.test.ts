import { expect, test } from 'vitest'
import { countText, shownStates, summaryText } from './overview.ts'

const NONE = { monitors: 0, in_incidents: 0, awaited: 0, failed_now: 0, never_valid: 0, incidents: 0, acknowledged: 0 }

test.each([
  [{ active: 0, disabled: 0, states: {} }, 'Your expected records and their current state.'],
  [{ active: 0, disabled: 2, states: {} }, 'All monitors are disabled.'],
  [{ active: 3, disabled: 0, states: { UNSET: 3 } }, 'No monitor has a result yet.'],
  [
    { active: 3, disabled: 0, states: { UNSET: 1, VALID: 2 } },
    '1 of 3 active monitors has no result yet; the others are valid.',
  ],
  [{ active: 3, disabled: 1, states: { VALID: 3 } }, 'All active monitors are valid.'],
] as const)('the summary of %j is: %s', (overview, sentence) => {
  expect(summaryText({ ...overview, failing: NONE })).toBe(sentence)
})

test.each([
  [
    { monitors: 2, failed_now: 1, never_valid: 1 },
    '2 of 3 active monitors are failing: 1 failed just now, 1 never valid.',
  ],
  [{ monitors: 1, never_valid: 1 }, '1 of 3 active monitors is failing: never valid.'],
  [{ monitors: 2, in_incidents: 2, incidents: 1 }, '2 of 3 active monitors are failing: in 1 open incident.'],
  [
    { monitors: 3, in_incidents: 2, incidents: 2, acknowledged: 1, awaited: 1 },
    '3 of 3 active monitors are failing: 2 in 2 open incidents (1 acknowledged), 1 awaited.',
  ],
])('the summary with the failures %j is: %s', (failing, sentence) => {
  expect(summaryText({ active: 3, disabled: 0, states: {}, failing: { ...NONE, ...failing } })).toBe(sentence)
})

test('a partial count hides no state, and shows lower bounds only', () => {
  const counts = { states: { MISMATCH: 4_000 }, active: 4_000, disabled: 1_000, is_partial: true }
  expect(shownStates(counts, [])).toContain('VALID')
  expect(shownStates({ ...counts, is_partial: false }, ['TIMEOUT'])).toEqual(['MISMATCH', 'TIMEOUT'])
  expect([countText(4_000, true), countText(0, true), countText(0, false)]).toEqual(['4,000+', '', '0'])
})
