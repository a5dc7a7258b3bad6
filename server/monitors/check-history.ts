import { type Gap, LATE_MS } from './check-gaps.ts'
import { countDue, lastDueAt } from './slots.ts'

/** A monitor, and when it was to be checked. `past`: its earlier schedules in order, with the last check of each. Times are UTC epoch milliseconds. */
export type Monitored = {
  slot: number
  /** Minutes; 0: it is disabled. */
  frequency: number
  createdAt: number
  lastCheckedAt: number | null
  /** When the first of the checks without a result ran. */
  postponedSince: number | null
  past: readonly { until_at: number; frequency: number; last_checked_at: number | null }[]
}

export type CheckCounts = { due: number; done: number; late: number; missed: number; withheld: number }
/** `until`: null while there was no check since. */
export type CountedGap = { from: number; until: number | null; missed: number; withheld: number }
export type CheckHistory = CheckCounts & { gaps: CountedGap[] }

/** A check that was due less than this ago may be in progress: a round lasts 8 seconds, and 3 more for its slowest checks. */
const IN_PROGRESS_MS = 15_000

/** `to`: when it ends; slots until `dueUntil` are due. */
type Segment = { from: number; to: number; dueUntil: number; slot: number; frequency: number }
type Chain = Segment[]
/** `isEnded`: by a check. */
type Span = { from: number; until: number; isEnded: boolean; withheldSince: number | null }

/**
 * What was due in a period, and what of it was not done in time. A slot is done by a check after it, before the next one; it is late if
 * that began more than `LATE_MS` after it. `gaps`: the recorded ones. Pure.
 */
export function checkHistory(
  monitor: Monitored,
  gaps: readonly Gap[],
  { since, until }: { since: number; until: number },
  now: number,
): CheckHistory {
  const chains = chainsOf(monitor, now)
  const counts = { due: 0, late: 0, missed: 0, withheld: 0 }
  for (const segment of chains.flat())
    counts.due += countDue(Math.max(segment.from, since), Math.min(segment.dueUntil, until), segment)
  const found: CountedGap[] = []
  for (const span of merge([...recordedSpans(gaps, monitor), ...unrecordedSpans(monitor, chains, now)])) {
    for (const chain of overlapping(chains, span, (each) => ({ from: each[0]!.from, to: each.at(-1)!.to }))) {
      const { late, ...gap } = countSpan(span, chain, { since, until })
      if (late + gap.missed + gap.withheld === 0) continue
      counts.late += late
      counts.missed += gap.missed
      counts.withheld += gap.withheld
      found.push(gap)
    }
  }
  return { ...counts, done: counts.due - counts.missed - counts.withheld, gaps: found }
}

/** Of ranges in the order of time, those that have a part of the span in common. Somebody may have enabled a monitor thousands of times. */
function overlapping<T>(ranges: readonly T[], span: Span, boundsOf: (range: T) => { from: number; to: number }): T[] {
  let first = 0
  for (let end = ranges.length; first < end; ) {
    const middle = (first + end) >> 1
    if (boundsOf(ranges[middle]!).to <= span.from) first = middle + 1
    else end = middle
  }
  let next = first
  while (next < ranges.length && boundsOf(ranges[next]!).from < span.until) next++
  return ranges.slice(first, next)
}

/** The times in which it was active: each a list of schedules that follow one another. */
function chainsOf({ slot, frequency, createdAt, lastCheckedAt, past }: Monitored, now: number): Chain[] {
  const current = { until_at: Number.POSITIVE_INFINITY, frequency, last_checked_at: lastCheckedAt }
  const schedules = [...past, current]
  const chains: Chain[] = []
  let from = createdAt
  for (const [index, { until_at: to, frequency, last_checked_at }] of schedules.entries()) {
    const isFirst = index === 0 || schedules[index - 1]!.frequency === 0
    if (frequency > 0) {
      const isLast = schedules[index + 1] === undefined || schedules[index + 1]!.frequency === 0
      const end = Math.min(to, now)
      // What is in progress when the monitor is disabled, or now, is not due yet.
      const lastDue = lastDueAt(end, { slot, frequency })
      const isInProgress = isLast && lastDue > (last_checked_at ?? 0) && end - lastDue < IN_PROGRESS_MS
      const segment = { from, to, dueUntil: isInProgress ? lastDue - 1 : end, slot, frequency }
      if (isFirst) chains.push([segment])
      else chains.at(-1)!.push(segment)
    }
    from = to
  }
  return chains
}

/** What was recorded after the last check was read belongs to the next one. */
const recordedSpans = (gaps: readonly Gap[], { lastCheckedAt }: Monitored): Span[] =>
  gaps.flatMap(({ from_at, until_at, withheld_since }) =>
    until_at > (lastCheckedAt ?? 0) + LATE_MS
      ? []
      : [{ from: from_at, until: until_at, isEnded: true, withheldSince: withheld_since }],
  )

/** What no check ended: before a change of the schedule, and now. */
function unrecordedSpans({ lastCheckedAt, postponedSince, past }: Monitored, chains: readonly Chain[], now: number) {
  const spans: Span[] = []
  const found = new Map(chains.flatMap((chain) => chain.map((segment) => [segment.to, { chain, segment }])))
  for (const { until_at, frequency, last_checked_at } of past) {
    if (frequency === 0 || !found.has(until_at)) continue
    const { chain, segment } = found.get(until_at)!
    const from = last_checked_at ?? chain[0]!.from
    const isDisabled = chain.at(-1) === segment
    // After a change of the interval, an overdue check is made at once. If that is late too, its gap is recorded.
    if (until_at > from) spans.push({ from, until: until_at, isEnded: !isDisabled, withheldSince: null })
  }
  const current = chains.at(-1)
  if (current !== undefined && current.at(-1)!.to === Number.POSITIVE_INFINITY)
    spans.push({
      ...{ from: Math.max(lastCheckedAt ?? 0, current[0]!.from), until: now, isEnded: false },
      withheldSince: postponedSince,
    })
  return spans
}

/** A gap may be recorded in parts, one of which contains the other. */
function merge(spans: readonly Span[]): Span[] {
  const merged: Span[] = []
  for (const span of spans.toSorted((a, b) => a.from - b.from || a.until - b.until)) {
    const last = merged.at(-1)
    if (!last || span.from >= last.until) {
      merged.push({ ...span })
      continue
    }
    last.withheldSince = last.withheldSince ?? span.withheldSince
    if (span.until < last.until) continue
    last.until = span.until
    last.isEnded = span.isEnded
  }
  return merged
}

function countSpan(span: Span, chain: Chain, period: { since: number; until: number }): CountedGap & { late: number } {
  const from = Math.max(span.from, chain[0]!.from)
  const to = chain.at(-1)!.to
  const isOpen = !span.isEnded && to === Number.POSITIVE_INFINITY
  const gap = { from, until: isOpen ? null : Math.min(span.until, to), late: 0, missed: 0, withheld: 0 }
  if (from >= span.until || from >= to) return gap
  const isEndedHere = span.isEnded && span.until <= to
  const within = ({ from: start, dueUntil, slot, frequency }: Segment, a: number, b: number) =>
    countDue(Math.max(a, start), Math.min(b, dueUntil), { slot, frequency })
  let done: number | undefined
  for (const segment of overlapping(chain, span, (each) => each)) {
    const missed = within(segment, Math.max(from, period.since), Math.min(span.until, period.until))
    const intervalMs = segment.frequency * 60_000
    const withheldFrom = span.withheldSince === null ? Number.POSITIVE_INFINITY : span.withheldSince - intervalMs
    const withheld = within(segment, Math.max(from, period.since, withheldFrom), Math.min(span.until, period.until))
    gap.withheld += withheld
    gap.missed += missed - withheld
    if (within(segment, from, span.until) > 0) done = lastDueAt(Math.min(span.until, segment.dueUntil), segment)
  }
  // The check at the end is that of the last slot.
  if (!isEndedHere || done === undefined || done <= period.since || done > period.until) return gap
  if (gap.withheld > 0) gap.withheld--
  else gap.missed--
  if (span.until - done > LATE_MS) gap.late++
  return gap
}
