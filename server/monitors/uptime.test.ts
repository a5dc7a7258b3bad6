import { expect, test } from 'vitest'
import type { MonitorState } from '#contract/monitors.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../times.ts'
import { addSpan, dayOf, lengthOf, type Span } from './state-days.ts'
import { addMonitor, describeUptime, type MonitorStates, newTotals } from './uptime.ts'

const TODAY = Date.UTC(2026, 10, 21)
const NOW = TODAY + 9 * HOUR_MS

/** The rows of these changes: `[instant, new state]`, the first from UNSET. */
function record(changes: readonly [number, MonitorState][], createdAt: number): MonitorStates['days'] {
  const days = new Map<number, Span[]>()
  let state: MonitorState = 'UNSET'
  for (const [at, next] of changes) {
    const day = dayOf(at)
    days.set(day, addSpan(days.get(day) ?? [], { day, at, state, createdAt }))
    state = next
  }
  return [...days].map(([day, spans]) => ({ day, spans }))
}

type Given = { changes?: readonly [number, MonitorState][]; createdAt?: number; lastCheckedAt?: number } & Partial<
  Pick<MonitorStates, 'gaps' | 'recordedSince'>
> &
  Partial<MonitorStates['monitored']>

/** `slot` 0 and 5 minutes: due at each multiple of 5 minutes. */
function given({ changes = [], gaps = [], recordedSince = 0, ...monitored }: Given): MonitorStates {
  const createdAt = monitored.createdAt ?? TODAY - 10 * DAY_MS
  const state = changes.at(-1)?.[1] ?? 'UNSET'
  const schedule = { slot: 0, frequency: 5, lastCheckedAt: NOW, postponedSince: null, past: [] }
  return {
    days: record(changes, createdAt),
    state,
    gaps,
    recordedSince,
    monitored: { ...schedule, ...monitored, createdAt },
  }
}

function uptime(monitor: MonitorStates, days = 3) {
  const totals = newTotals(TODAY - (days - 1) * DAY_MS, NOW)
  addMonitor(totals, monitor)
  return describeUptime(totals)
}
const secondsOf = (monitor: MonitorStates, days?: number) => uptime(monitor, days).days.map(({ seconds }) => seconds)

test('a state that lasted for months is one row, and each day of it has all its seconds', () => {
  const monitor = given({
    changes: [
      [TODAY - 200 * DAY_MS, 'VALID'],
      [TODAY + HOUR_MS, 'MISMATCH'],
      [TODAY + 2 * HOUR_MS, 'VALID'],
    ],
    createdAt: TODAY - 200 * DAY_MS,
  })
  expect(monitor.days).toHaveLength(2)
  expect(uptime(monitor, 3)).toEqual({
    since: '2026-11-19T00:00:00.000Z',
    until: '2026-11-21T09:00:00.000Z',
    valid_percent: 98.2456,
    known_seconds: 205_200,
    days: [
      { date: '2026-11-19', seconds: { VALID: 86_400 } },
      { date: '2026-11-20', seconds: { VALID: 86_400 } },
      { date: '2026-11-21', seconds: { VALID: 28_800, MISMATCH: 3_600 } },
    ],
  })
})

test('the days are those of a model that knows each span, for random histories', () => {
  let seed = 7
  const random = (below: number) => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % below
  }
  const states = ['VALID', 'MISMATCH', 'TIMEOUT', 'UNSET'] as const
  for (let round = 0; round < 300; round++) {
    const createdAt = TODAY - random(6 * DAY_MS)
    const changes: [number, MonitorState][] = []
    for (let at = createdAt; ; ) {
      at += 1 + random(round % 3 === 0 ? 3 * DAY_MS : 5 * HOUR_MS)
      if (at > NOW) break
      changes.push([at, states[random(4)]!])
    }
    const model = Array.from({ length: 5 }, () => ({}) as Record<string, number>)
    const spans = [[createdAt, 'UNSET'] as const, ...changes, [NOW, 'UNSET'] as const]
    for (const [index, [from, state]] of spans.slice(0, -1).entries()) {
      for (let at = from; at < spans[index + 1]![0]; ) {
        const end = Math.min(dayOf(at) + DAY_MS, spans[index + 1]![0])
        const day = model[4 - (TODAY - dayOf(at)) / DAY_MS]
        if (day) day[state] = (day[state] ?? 0) + end - at
        at = end
      }
    }
    const inSeconds = model.map((day) => Object.fromEntries(Object.entries(day).map(([key, ms]) => [key, ms / 1_000])))
    expect(secondsOf(given({ changes, createdAt }), 5)).toEqual(inSeconds)
  }
})

test('a day with more changes than are kept has the same sums', () => {
  const changes = Array.from({ length: 2_001 }, (_, index): [number, MonitorState] => [
    TODAY + index * 10_000,
    index % 2 === 0 ? 'VALID' : 'MISMATCH',
  ])
  const monitor = given({ changes, createdAt: TODAY - DAY_MS })
  expect(monitor.days[0]!.spans.length).toBeLessThanOrEqual(201)
  expect(lengthOf(monitor.days[0]!.spans)).toBe(20_000_000)
  expect(secondsOf(monitor, 2)).toEqual([
    { UNSET: 86_400 },
    { VALID: 10_000 + (9 * HOUR_MS) / 1_000 - 20_000, MISMATCH: 10_000 },
  ])
})

test('before the monitor was created, before changes were recorded, and in the future nothing is known', () => {
  const changes: [number, MonitorState][] = [[TODAY - HOUR_MS, 'VALID']]
  expect(secondsOf(given({ changes, createdAt: TODAY - 2 * HOUR_MS }))).toEqual([
    {},
    { UNSET: 3_600, VALID: 3_600 },
    { VALID: 32_400 },
  ])
  expect(secondsOf(given({ changes, recordedSince: TODAY - 30 * MINUTE_MS }))).toEqual([
    {},
    { VALID: 1_800 },
    { VALID: 32_400 },
  ])
})

test('a percentage needs a day that is known', () => {
  const changes: [number, MonitorState][] = [[NOW - DAY_MS + 1_000, 'VALID']]
  expect(uptime(given({ changes }))).toMatchObject({ valid_percent: null, known_seconds: 86_399 })
  expect(uptime(given({ changes: [[NOW - DAY_MS, 'VALID']] }))).toMatchObject({ valid_percent: 100 })
  const almost: [number, MonitorState][] = [
    [TODAY - 9 * DAY_MS, 'MISMATCH'],
    [TODAY - 2 * DAY_MS + 1, 'VALID'],
  ]
  expect(uptime(given({ changes: almost })).valid_percent).toBe(99.9999)
})

test('while nobody looked, the record is not valid: from the check that was missed until the next one', () => {
  const changes: [number, MonitorState][] = [
    [TODAY - 9 * DAY_MS, 'VALID'],
    [TODAY + 4 * HOUR_MS, 'MISMATCH'],
  ]
  const gaps = [{ from_at: TODAY + 2 * HOUR_MS, until_at: TODAY + 4 * HOUR_MS, withheld_since: null }]
  expect(secondsOf(given({ changes, gaps }), 1)).toEqual([
    { VALID: 2 * 3_600 + 300, NOT_CHECKED: 2 * 3_600 - 300, MISMATCH: 5 * 3_600 },
  ])
  // A late check is a check: it was made before the next one was due.
  const late = [{ from_at: TODAY, until_at: TODAY + 7 * MINUTE_MS, withheld_since: null }]
  expect(secondsOf(given({ changes, gaps: late }), 1)).toEqual([{ VALID: 4 * 3_600, MISMATCH: 5 * 3_600 }])
  // No check since an hour.
  expect(secondsOf(given({ changes, lastCheckedAt: NOW - HOUR_MS }), 1)).toEqual([
    { VALID: 4 * 3_600, MISMATCH: 4 * 3_600 + 300, NOT_CHECKED: 3_300 },
  ])
  const withheld = [{ from_at: TODAY, until_at: TODAY + HOUR_MS, withheld_since: TODAY + 5 * MINUTE_MS }]
  expect(secondsOf(given({ changes, gaps: withheld }), 1)).toEqual([
    { VALID: 3 * 3_600 + 300, NOT_CHECKED: 3_300, MISMATCH: 5 * 3_600 },
  ])
})

test('while it is disabled, no state counts', () => {
  const changes: [number, MonitorState][] = [[TODAY - 9 * DAY_MS, 'VALID']]
  const past = [
    { until_at: TODAY - 12 * HOUR_MS, frequency: 5, last_checked_at: TODAY - 12 * HOUR_MS },
    { until_at: TODAY + HOUR_MS, frequency: 0, last_checked_at: TODAY - 12 * HOUR_MS },
  ]
  expect(secondsOf(given({ changes, past }), 2)).toEqual([
    { VALID: 43_200, PAUSED: 43_200 },
    { VALID: 28_800, PAUSED: 3_600 },
  ])
  expect(secondsOf(given({ changes, past: past.slice(0, 1), frequency: 0 }), 2)).toEqual([
    { VALID: 43_200, PAUSED: 43_200 },
    { PAUSED: 32_400 },
  ])
})

test('of a restored monitor nothing is known before, and after the clock was set back no span is negative', () => {
  const restored = given({ changes: [] })
  restored.days = [{ day: TODAY, spans: [[null, HOUR_MS]] }]
  restored.state = 'VALID'
  expect(secondsOf(restored)).toEqual([{}, {}, { VALID: 28_800 }])
  const spans = addSpan([['VALID', 5 * HOUR_MS]], { day: TODAY, at: TODAY + HOUR_MS, state: 'MISMATCH', createdAt: 0 })
  expect(spans).toEqual([['VALID', 5 * HOUR_MS]])
})
