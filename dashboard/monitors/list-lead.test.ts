import { expect, test } from 'vitest'
import { leadOf } from './list-lead.ts'

test.each([
  [{ active: 0, disabled: 0, states: {} }, 'What the DNS should say, and whether it does.'],
  [{ active: 0, disabled: 2, states: {} }, 'Every monitor is disabled.'],
  [{ active: 3, disabled: 0, states: { UNSET: 3 } }, 'No monitor was checked yet.'],
  [
    { active: 3, disabled: 0, states: { UNSET: 1, VALID: 2 } },
    '1 of 3 active monitors is not checked yet; the others are as expected.',
  ],
  [{ active: 3, disabled: 1, states: { VALID: 3 } }, 'Every active monitor is as expected.'],
  [{ active: 3, disabled: 0, states: { UNSET: 1, TIMEOUT: 2 } }, '2 of 3 active monitors are not as expected.'],
] as const)('of %j it says: %s', (overview, sentence) => {
  expect(leadOf(overview)).toBe(sentence)
})
