import { expect, test } from 'vitest'
import type { Timeline } from '#contract/dashboard.ts'
import { barAt, barsOf, lanesOf, ticksOf } from './timeline-lanes.ts'

const HOUR = 3_600_000
const begin = Date.parse('2026-11-20T10:00:00.000Z')
const iso = (hours: number) => new Date(begin + hours * HOUR).toISOString()
const segment = (from: number, to: number, state: Timeline['segments'][number]['state']) => ({
  from: iso(from),
  to: iso(to),
  state,
  event_id: null,
})

const timeline: Timeline = {
  from: iso(0),
  to: iso(20),
  segments: [
    segment(0, 5, null),
    segment(5, 10, 'VALID'),
    segment(10, 19.999, 'MISMATCH'),
    segment(19.999, 20, 'VALID'),
  ],
  changes: 2,
}

test('each segment has its position, and the shortest are wide enough to be seen', () => {
  const bars = barsOf(timeline)
  expect(bars.slice(0, 2).map(({ x, width }) => [x, width])).toEqual([
    [0, 25],
    [25, 25],
  ])
  expect(bars[3]!.width).toBe(0.4)
  expect(bars[3]!.x + bars[3]!.width).toBe(100)
})

test('of overlapping segments, the shortest is selected', () => {
  const bars = barsOf(timeline)
  expect([10, 60, 99.9].map((place) => barAt(bars, place)?.index)).toEqual([0, 2, 3])
  expect(barAt([], 50)).toBeUndefined()
})

test('each state that occurs has a lane, valid first, and unknown periods have none', () => {
  expect(lanesOf(barsOf(timeline)).map(({ state, bars, ms }) => [state, bars.length, Math.round(ms / 1000)])).toEqual([
    ['VALID', 2, 18_004],
    ['MISMATCH', 1, 35_996],
  ])
})

test('the ticks of an axis are at round local times within the range', () => {
  const from = new Date(2026, 10, 20, 10, 30).getTime()
  const hours = ticksOf(from, from + 24 * HOUR, '24h')
  expect(hours).toHaveLength(6)
  expect(hours[0]!.x).toBeCloseTo((1.5 / 24) * 100)
  const days = ticksOf(from, from + 7 * 24 * HOUR, '7d')
  expect(days).toHaveLength(7)
  expect(days[0]!.x).toBeCloseTo((13.5 / (7 * 24)) * 100)
  expect(ticksOf(from, from + 90 * 24 * HOUR, '90d')).toHaveLength(6)
})
