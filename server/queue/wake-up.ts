import { type Clock, systemClock } from '../clock.ts'

/** How long an idle loop waits for a signal before it polls the database. */
const POLL_MS = 2_000

/** Wakes a loop when there is work, before its next poll of the database. */
export class WakeUp {
  #pollMs = POLL_MS
  readonly #onSend: (() => void) | undefined
  #isSent = false
  #wake: (() => void) | undefined
  /** When the running timer ends. */
  #timerEndsAt = Number.NEGATIVE_INFINITY

  /** `onSend`: forwards the signal to the loops of other processes. */
  constructor(onSend?: () => void) {
    this.#onSend = onSend
  }

  /** Call it after the commit, because the loops read the database at once. */
  send(): void {
    this.#onSend?.()
    this.receive()
  }

  /** For a signal of another process: wakes the loop of this process only. */
  receive(): void {
    this.#isSent = true
    this.#wake?.()
  }

  /** Shorter than usual while signals of other servers do not arrive; undefined: as usual. */
  pollEvery(ms: number | undefined): void {
    this.#pollMs = ms ?? POLL_MS
  }

  /** The longest wait of a loop that knows of nothing due. */
  pollMs(): number {
    return this.#pollMs
  }

  /** Whether the next `wait` returns at once. */
  isSent(): boolean {
    return this.#isSent
  }

  /**
   * Resolves at the next signal, at once if one came since the last call, and at the latest after `ms` or when `signal` is aborted.
   * For one loop. The next wait uses the timer of an interrupted one, so that many signals do not start many timers.
   */
  async wait(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
    if (!this.#isSent) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      this.#startTimer(ms, clock, signal)
      await promise
      this.#wake = undefined
    }
    this.#isSent = false
  }

  #startTimer(ms: number, clock: Clock, signal: AbortSignal): void {
    const now = clock.elapsed()
    if (this.#timerEndsAt > now && this.#timerEndsAt <= now + ms) return
    this.#timerEndsAt = now + ms
    void clock.sleep(ms, signal).then(() => {
      this.#timerEndsAt = Number.NEGATIVE_INFINITY
      this.#wake?.()
    })
  }
}

/** The queues whose loops can be woken. */
export const TOPICS = ['checks', 'requests', 'mails', 'evaluations', 'alerts', 'jobs', 'waits', 'zones'] as const
export type Topic = (typeof TOPICS)[number]
export type WakeUps = Record<Topic, WakeUp>

/** Between two signals of one topic to other processes. */
const FORWARD_INTERVAL_MS = 20

/** `forward`: sends a topic to other processes. The first signal is forwarded at once, those of the next 20 ms as one. */
export function createWakeUps(forward?: (topic: Topic) => void, clock: Clock = systemClock): WakeUps {
  /** The topics forwarded within the last 20 ms, and whether another signal came since. */
  const isPending = new Map<Topic, boolean>()
  const throttledForward = (topic: Topic) => {
    if (isPending.has(topic)) return void isPending.set(topic, true)
    isPending.set(topic, false)
    forward?.(topic)
    void clock.sleep(FORWARD_INTERVAL_MS).then(() => {
      const mustForward = isPending.get(topic)
      isPending.delete(topic)
      if (mustForward) throttledForward(topic)
    })
  }
  const entries = TOPICS.map((topic) => [topic, new WakeUp(forward && (() => throttledForward(topic)))])
  return Object.fromEntries(entries) as WakeUps
}
