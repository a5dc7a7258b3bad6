import type { Timeline } from '#contract/dashboard.ts'
import type { MonitorState } from '#contract/monitors.ts'
import { toIso } from '../http/times.ts'

/** An event as far as a timeline needs it. Instants in UTC epoch milliseconds. */
export type StateChange = { id: string; at: number; old: MonitorState; new: MonitorState }

export type History = {
  from: number
  now: number
  monitor: { created: number; state: MonitorState; lastChecked: number | null }
  /** The last event before `from`, where one is kept, and those since, oldest first. */
  before: StateChange | undefined
  stateChanges: readonly StateChange[]
  /** Events before this are not kept; null: all are. */
  keptSince: number | null
}

type Segment = { from: number; to: number; state: MonitorState | null; event: string | null }

/** Segments that one answer holds. */
const MOST = 500

/** In which state a monitor was, without gaps. Pure. */
export function timelineOf(history: History): Timeline {
  const segments = joinEqual(segmentsOf(history))
  // A monitor that waits for a check is neither valid nor invalid: that time says nothing of the record.
  const known = segments.filter(({ state }) => state !== null && state !== 'UNSET')
  const knownMs = lengthOf(known)
  return {
    from: toIso(history.from),
    to: toIso(history.now),
    segments: thinned(segments).map(({ from, to, state, event }) => ({
      from: toIso(from),
      to: toIso(to),
      state,
      event_id: event,
    })),
    changes: history.stateChanges.filter((stateChange) => stateChange.old !== 'UNSET').length,
    valid: knownMs === 0 ? null : lengthOf(known.filter(({ state }) => state === 'VALID')) / knownMs,
  }
}

function segmentsOf({ from, now, monitor, before, stateChanges, keptSince }: History): Segment[] {
  const marks: Omit<Segment, 'to'>[] = [{ from, state: null, event: null }]
  if (before) marks.push({ from, state: before.new, event: before.id })
  else marks.push(...beginning({ from, now, monitor, stateChanges, keptSince }))
  for (const { id, at, new: state } of stateChanges) marks.push({ from: at, state, event: id })
  // The expectation was changed since, which makes no event; the last check was still by the old one.
  const last = stateChanges.at(-1) ?? before
  if (last && last.new !== monitor.state) {
    marks.push({ from: Math.max(last.at, monitor.lastChecked ?? 0), state: monitor.state, event: null })
  }
  const within = marks.map((mark) => ({ ...mark, from: Math.min(Math.max(mark.from, from), now) }))
  return within
    .map((mark, place) => ({ ...mark, to: within[place + 1]?.from ?? now }))
    .filter((segment) => segment.to > segment.from)
}

/** Before the first event that is kept: what it says was before it, as far back as no other event can have been. */
function beginning({ now, monitor, stateChanges, keptSince }: Omit<History, 'before'>): Omit<Segment, 'to'>[] {
  const state = stateChanges[0]?.old ?? monitor.state
  const isFromCreation = state === 'UNSET' && (keptSince === null || keptSince <= monitor.created)
  const since = isFromCreation ? monitor.created : (keptSince ?? stateChanges[0]?.at ?? now)
  return [{ from: Math.max(since, monitor.created), state, event: null }]
}

function joinEqual(segments: readonly Segment[]): Segment[] {
  const joined: Segment[] = []
  for (const segment of segments) {
    const last = joined.at(-1)
    if (last && last.state === segment.state) joined[joined.length - 1] = { ...last, to: segment.to }
    else joined.push(segment)
  }
  return joined
}

/** Where there are too many, each of the shortest goes to the longer of the two that stay beside it. */
function thinned(segments: readonly Segment[]): Segment[] {
  if (segments.length <= MOST) return [...segments]
  const longest = segments.map((segment, place) => ({ place, ms: segment.to - segment.from }))
  longest.sort((one, other) => other.ms - one.ms || one.place - other.place)
  const kept = longest.slice(0, MOST).sort((one, other) => one.place - other.place)
  const stay = kept.map(({ place }) => ({ ...segments[place]! }))
  stay[0]!.from = segments[0]!.from
  stay.at(-1)!.to = segments.at(-1)!.to
  for (const [at, next] of stay.slice(1).entries()) {
    const last = stay[at]!
    if (kept[at]!.ms >= kept[at + 1]!.ms) last.to = next.from
    else next.from = last.to
  }
  return joinEqual(stay)
}

function lengthOf(segments: readonly Segment[]): number {
  return segments.reduce((sum, { from, to }) => sum + to - from, 0)
}
