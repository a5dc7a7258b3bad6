import type { MonitorState } from '#contract/monitors.ts'
import { DAY_PARTS, type DayPart, type Uptime } from '#contract/uptime.ts'
import { DAY_MS, toIso } from '../times.ts'
import type { Gap } from './check-gaps.ts'
import { checkHistory, type Monitored } from './check-history.ts'
import { nextDueAt } from './slots.ts'
import { lengthOf, type Span } from './state-days.ts'

/** `days`: those on which the state changed, in order. `recordedSince`: since when changes and gaps are known. */
export type MonitorStates = {
  monitored: Monitored
  gaps: readonly Gap[]
  state: MonitorState
  days: readonly { day: number; spans: readonly Span[] }[]
  recordedSince: number
}

/** Milliseconds of each part, by day, of one monitor or the sum of several. */
export type Totals = { since: number; until: number; monitors: number; days: Map<DayPart, number>[] }

/** `since`: the first instant of a day. */
export const newTotals = (since: number, until: number): Totals => ({
  ...{ since, until, monitors: 0 },
  days: Array.from({ length: Math.ceil((until - since) / DAY_MS) }, () => new Map()),
})

type Part = { from: number; to: number; part: DayPart | null }

/** Time in which nobody looked is never the time of a state. Pure, but for `totals`. */
export function addMonitor(totals: Totals, monitor: MonitorStates): void {
  const { since, until } = totals
  totals.monitors++
  const from = Math.max(since, monitor.recordedSince, monitor.monitored.createdAt)
  const unchecked = uncheckedParts(monitor, { since: from, until })
  let next = 0
  for (const span of stateParts(monitor, from, until)) {
    while (next < unchecked.length && unchecked[next]!.to <= span.from) next++
    let at = span.from
    for (let index = next; index < unchecked.length && unchecked[index]!.from < span.to; index++) {
      const { from, to, part } = unchecked[index]!
      addPart(totals, { from: at, to: Math.max(at, from), part: span.part })
      // What is not known at all stays so.
      addPart(totals, { from: Math.max(at, from), to: Math.min(to, span.to), part: span.part && part })
      at = Math.min(to, span.to)
    }
    addPart(totals, { from: at, to: span.to, part: span.part })
  }
}

function addPart({ since, days }: Totals, { from, to, part }: Part): void {
  if (part === null) return
  for (let start = from; start < to; ) {
    const index = Math.floor((start - since) / DAY_MS)
    const end = Math.min(to, since + (index + 1) * DAY_MS)
    days[index]!.set(part, (days[index]!.get(part) ?? 0) + end - start)
    start = end
  }
}

/** The states in the order of time. After the spans of a day comes the state with which the next one begins, or the present one. */
function stateParts({ state, days }: MonitorStates, from: number, until: number): Part[] {
  const parts: Part[] = []
  let end = until
  let part: DayPart | null = state
  const add = (start: number) => {
    if (start >= end) return
    parts.push({ from: Math.max(start, from), to: end, part })
    end = Math.max(start, from)
  }
  for (const { day, spans } of days.toReversed()) {
    if (end <= from) break
    add(day + lengthOf(spans))
    let at = day + lengthOf(spans)
    for (const [spanState, ms] of spans.toReversed()) {
      part = spanState
      at -= ms
      add(at)
    }
  }
  add(from)
  return parts.reverse()
}

/** When the monitor was disabled, and when a check was due that was not made or had no result. */
function uncheckedParts({ monitored, gaps }: MonitorStates, period: { since: number; until: number }): Part[] {
  const { slot, frequency, createdAt, past } = monitored
  const parts: Part[] = []
  let from = createdAt
  for (const schedule of [...past, { until_at: period.until, frequency }]) {
    if (schedule.frequency === 0) parts.push({ from, to: schedule.until_at, part: 'PAUSED' })
    from = schedule.until_at
  }
  for (const gap of checkHistory(monitored, gaps, period, period.until).gaps) {
    if (gap.missed + gap.withheld === 0) continue
    const interval = past.find(({ until_at }) => until_at > gap.from)?.frequency ?? frequency
    const due = interval === 0 ? gap.from : nextDueAt(gap.from, { slot, frequency: interval })
    parts.push({ from: due, to: gap.until ?? period.until, part: 'NOT_CHECKED' })
  }
  return parts.filter(({ from, to }) => to > Math.max(from, period.since)).sort((a, b) => a.from - b.from)
}

/** As in a response. */
export function describeUptime({ since, until, monitors, days }: Totals): Uptime {
  let knownMs = 0
  let validMs = 0
  for (const parts of days) {
    for (const [part, ms] of parts) if (isKnown(part)) knownMs += ms
    validMs += parts.get('VALID') ?? 0
  }
  return {
    since: toIso(since),
    until: toIso(until),
    valid_percent:
      knownMs < DAY_MS * Math.max(1, monitors) ? null : Math.floor((1_000_000 * validMs) / knownMs) / 10_000,
    known_seconds: knownMs / 1_000,
    days: days.map((parts, index) => ({
      date: toIso(since + index * DAY_MS).slice(0, 10),
      seconds: Object.fromEntries(
        DAY_PARTS.flatMap((part) => (parts.get(part) ? [[part, parts.get(part)! / 1_000]] : [])),
      ),
    })),
  }
}

/** UNSET says nothing about the record. */
const isKnown = (part: DayPart) => part !== 'UNSET' && part !== 'PAUSED' && part !== 'NOT_CHECKED'
