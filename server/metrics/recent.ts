/** What happened within the last minute, roughly: the half minute that is over and the one that runs. */
const HALF_MS = 30_000

type Half = { count: number; failed: number; ms: number; mostMs: number }

export type RecentActivity = { count: number; failed: number; averageMs: number | null; mostMs: number }

/** Durations of the last minute. For people who look at one process; the metrics keep everything. */
export class Recent {
  #before = newHalf()
  #current = newHalf()
  #startedAt = 0

  add(ms: number, isFailed = false): void {
    const current = this.#current
    current.count++
    if (isFailed) current.failed++
    current.ms += ms
    if (ms > current.mostMs) current.mostMs = ms
  }

  /** `elapsed`: `Clock.elapsed()`. To be called at least every half minute. */
  read(elapsed: number): RecentActivity {
    if (elapsed - this.#startedAt >= HALF_MS) {
      this.#before = this.#current
      this.#current = newHalf()
      this.#startedAt = elapsed
    }
    const [one, other] = [this.#before, this.#current]
    const count = one.count + other.count
    return {
      count,
      failed: one.failed + other.failed,
      averageMs: count === 0 ? null : Math.round(((one.ms + other.ms) / count) * 10) / 10,
      mostMs: Math.round(Math.max(one.mostMs, other.mostMs)),
    }
  }
}

const newHalf = (): Half => ({ count: 0, failed: 0, ms: 0, mostMs: 0 })
