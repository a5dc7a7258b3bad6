import type { Overview } from '#contract/dashboard.ts'
import type { MonitorState } from '#contract/monitors.ts'
import type { Tone } from '../ui/state.tsx'

export type Verdict = { tone: Tone; title: string; proof: string }

/** How everything stands, in a sentence, and what makes it believable. */
export function verdictOf(overview: Overview, now: number): Verdict {
  const { active, checks, states } = overview
  const troubles = troublesIn(overview)
  const proof = proofOf(overview, now)
  if (troubles > 0) {
    return {
      tone: 'bad',
      title: troubles === 1 ? 'One thing needs attention' : `${troubles} things need attention`,
      proof,
    }
  }
  if (active === 0) return { tone: 'idle', title: 'No monitor is active', proof: 'Enable one, or add a new one.' }
  if (checks.late > 0) {
    return { tone: 'warn', title: `${counted(checks.late, 'check is', 'checks are')} late`, proof }
  }
  const waiting = states.UNSET ?? 0
  if (waiting > 0) {
    return { tone: 'idle', title: `${counted(waiting, 'monitor waits', 'monitors wait')} for the first check`, proof }
  }
  return { tone: 'good', title: `${counted(active, 'monitor', 'monitors')} as expected`, proof }
}

/** Causes, and webhooks that tell nobody. */
export const troublesIn = ({ attention, more, webhooks }: Overview): number =>
  attention.length + more + webhooks.paused.length

function proofOf({ checks }: Overview, now: number): string {
  if (checks.last_checked === null) return 'No check has ended yet.'
  return `The last check ended ${agoText(now - Date.parse(checks.last_checked))}.`
}

/** To the second while it is young: that it moves is the proof. */
export function agoText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 2) return 'just now'
  if (seconds < 90) return `${seconds} seconds ago`
  const minutes = Math.round(seconds / 60)
  if (minutes < 90) return `${minutes} minutes ago`
  const hours = Math.round(minutes / 60)
  return hours < 36 ? `${hours} hours ago` : `${Math.round(hours / 24)} days ago`
}

/** In the order of the bar: well, unknown, broken, unanswered. */
const ORDER: readonly MonitorState[] = [
  'VALID',
  'UNSET',
  'MISMATCH',
  'NOT_FOUND',
  'NO_DATA',
  'BAD_SETUP',
  'INVALID',
  'TIMEOUT',
]

/** The states that occur, with their number. */
export const statesIn = ({ states }: Overview): { state: MonitorState; count: number }[] =>
  ORDER.map((state) => ({ state, count: states[state] ?? 0 })).filter(({ count }) => count > 0)

export const counted = (count: number, one: string, many: string): string =>
  `${count.toLocaleString()} ${count === 1 ? one : many}`
