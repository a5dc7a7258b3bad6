import type { Timeline } from '#contract/dashboard.ts'
import type { MonitorState } from '#contract/monitors.ts'
import { toIso } from '../times.ts'

/** The fields of an event that a timeline needs. Instants in UTC epoch milliseconds. */
export type StateChange = { id: string; at: number; old: MonitorState; new: MonitorState }

export type History = {
  from: number
  now: number
  monitor: { created: number; state: MonitorState; lastChecked: number | null }
  /** The last stored event before `from`. */
  before: StateChange | undefined
  stateChanges: readonly StateChange[]
  /** Since `from`, oldest first. */
  keptSince: number | null
}

type Segment = { from: number; to: number; state: MonitorState | null; event: string | null }

/** Segments in one response. */
const MAX_SEGMENTS = 500

/** The states of a monitor over time, without gaps. Pure. */
export function timelineOf(history: History): Timeline {
  const segments = joinEqual(segmentsOf(history))
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
  }
}

function segmentsOf({ from, now, monitor, before, stateChanges, keptSince }: History): Segment[] {
  const marks: Omit<Segment, 'to'>[] = [{ from, state: null, event: null }]
  if (before) marks.push({ from, state: before.new, event: before.id })
  else marks.push(...beginning({ from, now, monitor, stateChanges, keptSince }))
  for (const { id, at, new: state } of stateChanges) marks.push({ from: at, state, event: id })
  // The state changed without an event: a user changed the expected values after the last check.
  const last = stateChanges.at(-1) ?? before
  if (last && last.new !== monitor.state) {
    marks.push({ from: Math.max(last.at, monitor.lastChecked ?? 0), state: monitor.state, event: null })
  }
  const within = marks.map((mark) => ({ ...mark, from: Math.min(Math.max(mark.from, from), now) }))
  return within
    .map((mark, index) => ({ ...mark, to: within[index + 1]?.from ?? now }))
    .filter((segment) => segment.to > segment.from)
}

/** The state before the first stored event, back to the creation or to the oldest instant whose events are still stored. */
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

/** Merges the shortest segments into the longer of their neighbors, until `MAX_SEGMENTS` are left. */
function thinned(segments: readonly Segment[]): Segment[] {
  if (segments.length <= MAX_SEGMENTS) return [...segments]
  const byLength = segments.map((segment, index) => ({ index, ms: segment.to - segment.from }))
  byLength.sort((a, b) => b.ms - a.ms || a.index - b.index)
  const longest = byLength.slice(0, MAX_SEGMENTS).sort((a, b) => a.index - b.index)
  const remaining = longest.map(({ index }) => ({ ...segments[index]! }))
  remaining[0]!.from = segments[0]!.from
  remaining.at(-1)!.to = segments.at(-1)!.to
  for (const [index, next] of remaining.slice(1).entries()) {
    const previous = remaining[index]!
    if (longest[index]!.ms >= longest[index + 1]!.ms) previous.to = next.from
    else next.from = previous.to
  }
  return joinEqual(remaining)
}
