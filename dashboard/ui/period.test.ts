import { expect, test } from 'vitest'
import { fromLocalInput, toLocalInput } from './period.tsx'

const instant = Date.parse('2026-03-29T01:30:45.000Z')

test('a datetime-local value is the local time of the time zone', () => {
  expect(toLocalInput(instant, -120)).toBe('2026-03-29T03:30')
  expect(toLocalInput(instant, 180)).toBe('2026-03-28T22:30')
})

test('a datetime-local value converts back to the same minute in every time zone', () => {
  expect(fromLocalInput(toLocalInput(instant))).toBe('2026-03-29T01:30:00.000Z')
})

test('an empty value has no date-time', () => {
  expect(fromLocalInput('')).toBeUndefined()
})
