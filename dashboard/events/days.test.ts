import { expect, test } from 'vitest'
import { dayStart, dayText, groupByDay } from './days.ts'

const at = (day: number, hour: number) => new Date(2026, 10, day, hour)
const eventAt = (day: number, hour: number) => ({ occurred: at(day, hour).toISOString() })

test('what happened on one day of the viewer is grouped, in the order given', () => {
  const events = [eventAt(21, 23), eventAt(21, 0), eventAt(19, 12)]
  expect(groupByDay(events)).toEqual([
    { day: at(21, 0).getTime(), items: events.slice(0, 2) },
    { day: at(19, 0).getTime(), items: events.slice(2) },
  ])
})

test('the last two days have words, older ones a date, those of other years the year too', () => {
  const now = at(21, 15).getTime()
  expect(dayText(at(21, 0).getTime(), now)).toBe('Today')
  expect(dayText(at(20, 0).getTime(), now)).toBe('Yesterday')
  expect(dayText(at(3, 0).getTime(), now)).toMatch(/November 3|3 November/)
  expect(dayText(new Date(2025, 10, 3).getTime(), now)).toContain('2025')
})

test('a date field names midnight in the viewer’s zone, and what is no date names nothing', () => {
  expect(dayStart('2026-11-21')).toBe(at(21, 0).getTime())
  expect(dayStart('2026-11-30', 1)).toBe(new Date(2026, 11, 1).getTime())
  expect(dayStart('yesterday')).toBeUndefined()
  expect(dayStart(undefined)).toBeUndefined()
})
