import { expect, test } from 'vitest'
import { STATES } from '#contract/monitors.ts'
import { isNotified } from './store.ts'

const pairs = STATES.flatMap((before) => STATES.map((after) => [before, after] as const))

test.each(pairs)('a change from %s to %s is delivered by the setting of the monitor', (before, after) => {
  expect(isNotified('immediately', before, after)).toBe(true)
  expect(isNotified('on_success', before, after)).toBe(before !== 'VALID' && after === 'VALID')
  expect(isNotified('after_success', before, after)).toBe(before === 'VALID' && after !== 'VALID')
})
