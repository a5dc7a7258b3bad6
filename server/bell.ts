import type { Clock } from './clock.ts'

/** Tells a loop of this process that there is work, so that it need not wait for its next look at the database. */
export class Bell {
  #isRung = false
  #wake: (() => void) | undefined

  /** Ring after the commit: who hears it looks at once. */
  ring(): void {
    this.#isRung = true
    this.#wake?.()
  }

  /** Resolves when it rings, at once when it rang since the last time, and after `ms` or an abort in any case. One loop listens. */
  async heard(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
    if (!this.#isRung && !signal.aborted) {
      const rung = new AbortController()
      this.#wake = () => rung.abort()
      signal.addEventListener('abort', () => rung.abort(), { signal: rung.signal })
      await clock.sleep(ms, rung.signal)
      rung.abort() // and with it the listener goes
      this.#wake = undefined
    }
    this.#isRung = false
  }
}
