import type { Clock } from './clock.ts'

/** Wakes a loop when there is work, so that it does not wait for its next poll of the database. */
export class WakeUp {
  readonly #onSend: (() => void) | undefined
  #isSent = false
  #wake: (() => void) | undefined
  #pause: Promise<void> | undefined

  /** `onSend`: forwards it, where the loop runs in another process. */
  constructor(onSend?: () => void) {
    this.#onSend = onSend
  }

  /** Call it after the commit: the loop reads the database at once. */
  send(): void {
    this.#onSend?.()
    this.#isSent = true
    this.#wake?.()
  }

  /**
   * Resolves at the next `send()`, at once if there was one since the last call, and at the latest after `ms` or when `signal` is
   * aborted. For one loop. The timer of a wait that was cut short serves the next one, so that many signals make no timers.
   */
  async wait(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
    if (!this.#isSent) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      this.#pause ??= clock.sleep(ms, signal).then(() => {
        this.#pause = undefined
        this.#wake?.()
      })
      await promise
      this.#wake = undefined
    }
    this.#isSent = false
  }
}
