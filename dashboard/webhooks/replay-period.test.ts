import { expect, test } from 'vitest'
import { instantOf, localMinutes } from './replay-period.ts'

test('a field of local time holds the instant to the minute, there and back', () => {
  const instant = Date.parse('2026-03-29T01:30:45.000Z')
  expect(instantOf(localMinutes(instant))).toBe('2026-03-29T01:30:00.000Z')
})

test('an empty field is no instant', () => {
  expect(instantOf('')).toBeUndefined()
})
