import { expect, test } from 'vitest'
import { instantOf, localMinutes } from './period.tsx'

const instant = Date.parse('2026-03-29T01:30:45.000Z')

test('a field of local time shows the wall clock of the zone', () => {
  expect(localMinutes(instant, -120)).toBe('2026-03-29T03:30')
  expect(localMinutes(instant, 180)).toBe('2026-03-28T22:30')
})

test('what the field shows is the same minute again, in whatever zone', () => {
  expect(instantOf(localMinutes(instant))).toBe('2026-03-29T01:30:00.000Z')
})

test('an empty field is no instant', () => {
  expect(instantOf('')).toBeUndefined()
})
