import { type Clock, systemClock } from './clock.ts'

/** How long a loop with nothing to do waits for a signal before it looks by itself. */
const POLL_MS = 2_000

/** Wakes a loop when there is work, so that it does not wait for its next poll of the database. */
export class WakeUp {
  #pollMs = POLL_MS
  readonly #onSend: (() => void) | undefined
  #isSent = false
  #wake: (() => void) | undefined
  /** The last timer, and when it ends. */
  #pauseUntil = Number.NEGATIVE_INFINITY

  /** `onSend`: forwards it to the loops of other processes. */
  constructor(onSend?: () => void) {
    this.#onSend = onSend
  }

  /** Call it after the commit: the loops read the database at once. */
  send(): void {
    this.#onSend?.()
    this.receive()
  }

  /** Wakes the loop of this process only: another one sent it. */
  receive(): void {
    this.#isSent = true
    this.#wake?.()
  }

  /** Less than usual where signals of other servers do not arrive; undefined where they do. */
  pollEvery(ms: number | undefined): void {
    this.#pollMs = ms ?? POLL_MS
  }

  /** How long a wait for nothing known may be. */
  pollMs(): number {
    return this.#pollMs
  }

  /** Whether the next `wait` returns at once. */
  isSent(): boolean {
    return this.#isSent
  }

  /**
   * Resolves at the next `send()`, at once if there was one since the last call, and at the latest after `ms` or when `signal` is
   * aborted. For one loop. The timer of a wait that was cut short serves the next one, so that many signals make no timers.
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
    if (this.#pauseUntil > now && this.#pauseUntil <= now + ms) return
    this.#pauseUntil = now + ms
    void clock.sleep(ms, signal).then(() => {
      this.#pauseUntil = Number.NEGATIVE_INFINITY
      this.#wake?.()
    })
  }
}

/** The queues whose loops can be woken. */
export const TOPICS = ['checks', 'requests', 'mails', 'evaluations', 'alerts', 'jobs', 'waits'] as const
export type Topic = (typeof TOPICS)[number]
export type WakeUps = Record<Topic, WakeUp>

/** Between two signals of one topic to other processes. */
const FORWARDED_EVERY_MS = 20

/** `forward`: to the loops of other processes, the first signal at once, those of the next 20 ms as one. */
export function createWakeUps(forward?: (topic: Topic) => void, clock: Clock = systemClock): WakeUps {
  const isRepeated = new Map<Topic, boolean>()
  const pace = (topic: Topic) => {
    if (isRepeated.has(topic)) return void isRepeated.set(topic, true)
    isRepeated.set(topic, false)
    forward?.(topic)
    void clock.sleep(FORWARDED_EVERY_MS).then(() => {
      const mustForward = isRepeated.get(topic)
      isRepeated.delete(topic)
      if (mustForward) pace(topic)
    })
  }
  const of = (topic: Topic) => new WakeUp(forward && (() => pace(topic)))
  return Object.fromEntries(TOPICS.map((topic) => [topic, of(topic)])) as WakeUps
}
