/** About a minute of activity: the last complete half minute and the current one. */
const HALF_MINUTE_MS = 30_000

type HalfMinute = { count: number; failed: number; ms: number; maxMs: number }

export type RecentActivity = { count: number; failed: number; averageMs: number | null; maxMs: number }

/** Durations of the last minute, for the Server page. */
export class Recent {
  #previous = newHalfMinute()
  #current = newHalfMinute()
  #startedAt = 0

  add(ms: number, isFailed = false): void {
    const current = this.#current
    current.count++
    if (isFailed) current.failed++
    current.ms += ms
    if (ms > current.maxMs) current.maxMs = ms
  }

  /** `elapsed`: `Clock.elapsed()`. Call it at least every half minute. */
  read(elapsed: number): RecentActivity {
    if (elapsed - this.#startedAt >= HALF_MINUTE_MS) {
      this.#previous = this.#current
      this.#current = newHalfMinute()
      this.#startedAt = elapsed
    }
    const [previous, current] = [this.#previous, this.#current]
    const count = previous.count + current.count
    return {
      count,
      failed: previous.failed + current.failed,
      averageMs: count === 0 ? null : Math.round(((previous.ms + current.ms) / count) * 10) / 10,
      maxMs: Math.round(Math.max(previous.maxMs, current.maxMs)),
    }
  }
}

const newHalfMinute = (): HalfMinute => ({ count: 0, failed: 0, ms: 0, maxMs: 0 })
