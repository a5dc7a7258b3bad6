/** Checks under way that go briskly; what is overdue beyond that waits in the database, oldest first. */
const BRISK = 2_000
/** With those that wait for servers that are slow or silent: they must not hold up the others. */
const MOST = 10_000
const SLOW_AFTER_MS = 1_000

/** The checks that have begun and are not recorded. Times are the clock's elapsed milliseconds. */
export class UnderWay {
  /** In the order in which they began. */
  readonly #brisk = new Map<Promise<void>, number>()
  readonly #slow = new Set<Promise<void>>()

  /** `check` never rejects. */
  add(check: Promise<void>, now: number): void {
    const ended = check.finally(() => this.#brisk.delete(ended) || this.#slow.delete(ended))
    this.#brisk.set(ended, now)
  }

  /** How many more may begin. */
  room(now: number): number {
    for (const [check, begunAt] of this.#brisk) {
      if (now - begunAt < SLOW_AFTER_MS) break
      this.#brisk.delete(check)
      this.#slow.add(check)
    }
    return Math.max(0, Math.min(BRISK - this.#brisk.size, MOST - this.#brisk.size - this.#slow.size))
  }

  async ended(): Promise<void> {
    await Promise.all([...this.#brisk.keys(), ...this.#slow])
  }
}
