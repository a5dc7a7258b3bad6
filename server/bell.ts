import type { Clock } from './clock.ts'

/** Tells a loop of this process that there is work, so that it need not wait for its next look at the database. */
export class Bell {
  readonly #onRing: (() => void) | undefined
  #isRung = false
  #wake: (() => void) | undefined
  #pause: Promise<void> | undefined

  /** `onRing`: passes it on, where the loop runs in another process. */
  constructor(onRing?: () => void) {
    this.#onRing = onRing
  }

  /** Ring after the commit: who hears it looks at once. */
  ring(): void {
    this.#onRing?.()
    this.#isRung = true
    this.#wake?.()
  }

  /**
   * Resolves when it rings, at once when it rang since the last time, and at the latest after `ms` or when `signal` is
   * aborted. One loop listens. A pause that a ring cuts short goes on for the next time, so that ringing makes no timers.
   */
  async heard(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
    if (!this.#isRung) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      this.#pause ??= clock.sleep(ms, signal).then(() => {
        this.#pause = undefined
        this.#wake?.()
      })
      await promise
      this.#wake = undefined
    }
    this.#isRung = false
  }
}
