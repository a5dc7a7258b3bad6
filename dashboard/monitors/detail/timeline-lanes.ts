import type { Timeline, TimelineRange } from '#contract/dashboard.ts'
import type { MonitorState } from '#contract/monitors.ts'

/** Instants in epoch milliseconds; `x` and `width` in percent of the range. `index` is the position in time order. */
export type Bar = {
  index: number
  from: number
  to: number
  state: MonitorState | null
  event: string | null
  x: number
  width: number
}

/** The segments of one state, and their total duration. */
export type Lane = { state: MonitorState; bars: Bar[]; ms: number }

/** Percent. Shorter bars get this width, so that they are visible. */
const MIN_WIDTH = 0.4
const ORDER: MonitorState[] = ['VALID', 'MISMATCH', 'NOT_FOUND', 'NO_DATA', 'BAD_SETUP', 'INVALID', 'TIMEOUT', 'UNSET']

export function barsOf({ from, to, segments }: Timeline): Bar[] {
  const begin = Date.parse(from)
  const length = Math.max(1, Date.parse(to) - begin)
  return segments.map((segment, index) => {
    const start = Date.parse(segment.from)
    const end = Date.parse(segment.to)
    const width = Math.max(MIN_WIDTH, ((end - start) / length) * 100)
    const x = Math.min(((start - begin) / length) * 100, 100 - width)
    return { index, from: start, to: end, state: segment.state, event: segment.event_id, x, width }
  })
}

/** The bar at a position in percent. Of several, the narrowest, which is the hardest to hit. */
export function barAt(bars: readonly Bar[], position: number): Bar | undefined {
  const hits = bars.filter(({ x, width }) => position >= x && position <= x + width)
  return hits.sort((one, other) => one.width - other.width)[0]
}

/** One lane for each state that occurs, in a fixed order. Unknown periods have none. */
export function lanesOf(bars: readonly Bar[]): Lane[] {
  return ORDER.flatMap((state) => {
    const ofState = bars.filter((bar) => bar.state === state)
    return ofState.length === 0
      ? []
      : [{ state, bars: ofState, ms: ofState.reduce((sum, { from, to }) => sum + to - from, 0) }]
  })
}

const hour = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
const weekday = new Intl.DateTimeFormat(undefined, { weekday: 'short', day: 'numeric' })
const date = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' })

/** The distance between ticks, in local hours. */
const STEPS: Record<TimelineRange, { hours: number; text: Intl.DateTimeFormat }> = {
  '24h': { hours: 4, text: hour },
  '7d': { hours: 24, text: weekday },
  '30d': { hours: 24 * 5, text: date },
  '90d': { hours: 24 * 15, text: date },
}

/** Ticks at round local times; `x` in percent. Steps of days are calendar days, because not every day has 24 hours. */
export function ticksOf(from: number, to: number, range: TimelineRange): { x: number; text: string }[] {
  const { hours, text } = STEPS[range]
  const ticks: { x: number; text: string }[] = []
  const next = new Date(from)
  if (hours < 24) next.setHours(Math.ceil((next.getHours() + 1) / hours) * hours, 0, 0, 0)
  else next.setHours(24, 0, 0, 0)
  while (next.getTime() < to) {
    ticks.push({ x: ((next.getTime() - from) / (to - from)) * 100, text: text.format(next) })
    if (hours < 24) next.setHours(next.getHours() + hours)
    else next.setDate(next.getDate() + hours / 24)
  }
  return ticks
}

export const RANGE_NAMES: Record<TimelineRange, string> = {
  '24h': '24 hours',
  '7d': '7 days',
  '30d': '30 days',
  '90d': '90 days',
}
