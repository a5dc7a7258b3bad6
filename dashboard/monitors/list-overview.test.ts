import { expect, test } from 'vitest'
import { countText, shownStates, summaryText } from './list-overview.ts'

test.each([
  [{ active: 0, disabled: 0, states: {} }, 'Your expected records and their current state.'],
  [{ active: 0, disabled: 2, states: {} }, 'All monitors are disabled.'],
  [{ active: 3, disabled: 0, states: { UNSET: 3 } }, 'No monitor has been checked yet.'],
  [
    { active: 3, disabled: 0, states: { UNSET: 1, VALID: 2 } },
    '1 of 3 active monitors is not checked yet; the others are valid.',
  ],
  [{ active: 3, disabled: 1, states: { VALID: 3 } }, 'All active monitors are valid.'],
  [{ active: 3, disabled: 0, states: { UNSET: 1, TIMEOUT: 2 } }, '2 of 3 active monitors are not valid.'],
] as const)('the summary of %j is: %s', (overview, sentence) => {
  expect(summaryText(overview)).toBe(sentence)
})

test('a partial count hides no state, and shows lower bounds only', () => {
  const counts = { states: { MISMATCH: 4_000 }, active: 4_000, disabled: 1_000, is_partial: true }
  expect(shownStates(counts, [])).toContain('VALID')
  expect(shownStates({ ...counts, is_partial: false }, ['TIMEOUT'])).toEqual(['MISMATCH', 'TIMEOUT'])
  expect([countText(4_000, true), countText(0, true), countText(0, false)]).toEqual(['4,000+', '', '0'])
})
