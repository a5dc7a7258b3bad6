import { expect, test } from 'vitest'
import { dayStart, dayText, groupByDay } from './days.ts'

const at = (day: number, hour: number) => new Date(2026, 10, day, hour)
const eventAt = (day: number, hour: number) => ({ occurred: at(day, hour).toISOString() })

test('events are grouped by day in the user’s time zone, in their order', () => {
  const events = [eventAt(21, 23), eventAt(21, 0), eventAt(19, 12)]
  expect(groupByDay(events)).toEqual([
    { day: at(21, 0).getTime(), items: events.slice(0, 2) },
    { day: at(19, 0).getTime(), items: events.slice(2) },
  ])
})

test('days are Today, Yesterday or a date, with the year if it is another one', () => {
  const now = at(21, 15).getTime()
  expect(dayText(at(21, 0).getTime(), now)).toBe('Today')
  expect(dayText(at(20, 0).getTime(), now)).toBe('Yesterday')
  expect(dayText(at(3, 0).getTime(), now)).toMatch(/November 3|3 November/)
  expect(dayText(new Date(2025, 10, 3).getTime(), now)).toContain('2025')
})

test('a date is midnight in the user’s time zone, and an invalid date is undefined', () => {
  expect(dayStart('2026-11-21')).toBe(at(21, 0).getTime())
  expect(dayStart('2026-11-30', 1)).toBe(new Date(2026, 11, 1).getTime())
  expect(dayStart('yesterday')).toBeUndefined()
  expect(dayStart(undefined)).toBeUndefined()
})
