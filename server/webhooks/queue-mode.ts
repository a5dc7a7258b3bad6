/** A webhook's requests, as the courier sees them when it looks: a queue of its own. */
export type EndpointQueue = {
  webhook_id: string
  is_active: 0 | 1
  state: 'active' | 'paused'
  /** When a paused webhook is probed next. */
  probe_at: number | null
  /** What was kept during a pause is sent in the order of its ids: those after the first, up to the second. */
  drain_after: string | null
  drain_to: string | null
}

/** What may be claimed of a queue, beside what a person asked for manually, which always may. */
export type Mode =
  /** What is due. */
  | { kind: 'open' }
  /** What was kept, oldest first. */
  | { kind: 'drain'; after: string; to: string }
  /** The oldest kept request, to see whether the receiver is back. */
  | { kind: 'probe' }
  /** Nothing. */
  | { kind: 'shut' }

export function modeOf({ is_active, state, probe_at, drain_after, drain_to }: EndpointQueue, now: number): Mode {
  if (is_active === 0) return { kind: 'shut' }
  if (state === 'paused') return { kind: (probe_at ?? now) <= now ? 'probe' : 'shut' }
  if (drain_after !== null && drain_to !== null) return { kind: 'drain', after: drain_after, to: drain_to }
  return { kind: 'open' }
}
