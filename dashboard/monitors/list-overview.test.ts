import { expect, test } from 'vitest'
import { summaryText } from './list-overview.ts'

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
