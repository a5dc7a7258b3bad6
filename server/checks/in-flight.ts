/** Checks under way that go briskly; what is overdue beyond that waits in the database, oldest first. */
const BRISK = 2_000
/** With those that wait for servers that are slow or silent: they must not hold up the others. */
const MOST = 10_000
const SLOW_AFTER_MS = 1_000
/** Room for fewer is waited out: a claim of a few costs nearly as much as one of many. */
const LEAST = 250

/** Counts the checks that have begun and are not recorded. Times are the clock's elapsed milliseconds. */
export class InFlight {
  /** In the order in which they began, each with when. */
  readonly #brisk = new Map<object, number>()
  readonly #slow = new Set<object>()
  #end: (() => void) | undefined

  begin(check: object, now: number): void {
    this.#brisk.set(check, now)
  }

  end(check: object): void {
    if (!this.#brisk.delete(check)) this.#slow.delete(check)
    if (this.#isEmpty()) this.#end?.()
  }

  /** How many more may begin: none, or so many that they are worth a claim. */
  capacity(now: number): number {
    for (const [check, begunAt] of this.#brisk) {
      if (now - begunAt < SLOW_AFTER_MS) break
      this.#brisk.delete(check)
      this.#slow.add(check)
    }
    const capacity = Math.min(BRISK - this.#brisk.size, MOST - this.#brisk.size - this.#slow.size)
    return capacity < LEAST ? 0 : capacity
  }

  /** Resolves when nothing is under way. No more may begin. */
  async ended(): Promise<void> {
    if (this.#isEmpty()) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#end = resolve
    await promise
  }

  #isEmpty(): boolean {
    return this.#brisk.size + this.#slow.size === 0
  }
}
