/** Checks in progress for less than `SLOW_AFTER_MS`. Further due checks wait in the database, oldest first. */
export const MAX_FAST_IN_FLIGHT = 2_000
/** Including slow checks, which wait for slow or unresponsive servers and must not delay the others. */
export const MAX_IN_FLIGHT = 10_000
export const SLOW_AFTER_MS = 1_000
/** A claim of a few checks costs nearly as much as one of many, so smaller ones are not made. */
export const MIN_CLAIM = 250

/** An organization with more checks in progress than this comes after the others. */
export const MAX_IN_TURN = 1_000

type RunningCheck = { slot: number; organization_id: string }

/** The checks that have started and are not recorded yet. Times are the clock's elapsed milliseconds. */
export class InFlight<Check extends RunningCheck = RunningCheck> {
  /** With their start times, oldest first. */
  readonly #fast = new Map<Check, number>()
  readonly #slow = new Set<Check>()
  /** Without a result, with the start of their leases, the oldest first. */
  readonly #undecided = new Map<Check, number>()
  readonly #byOrganization = new Map<string, number>()
  #end: (() => void) | undefined

  start(check: Check, now: number): void {
    const { organization_id } = check
    this.#byOrganization.set(organization_id, (this.#byOrganization.get(organization_id) ?? 0) + 1)
    this.#fast.set(check, now)
    this.#undecided.set(check, now)
  }

  /** The check has a result, which is to be recorded. */
  decided(check: Check): void {
    this.#undecided.delete(check)
  }

  /** Those without a result whose leases began at that time or before. */
  undecidedSince(latest: number): Check[] {
    const found: Check[] = []
    for (const [check, leasedAt] of this.#undecided) {
      if (leasedAt > latest) break
      found.push(check)
    }
    return found
  }

  renewed(checks: readonly Check[], now: number): void {
    for (const check of checks) if (this.#undecided.delete(check)) this.#undecided.set(check, now)
  }

  finish(check: Check): void {
    this.#undecided.delete(check)
    const { organization_id } = check
    const count = (this.#byOrganization.get(organization_id) ?? 0) - 1
    if (count > 0) this.#byOrganization.set(organization_id, count)
    else this.#byOrganization.delete(organization_id)
    if (!this.#fast.delete(check)) this.#slow.delete(check)
    if (this.#isEmpty()) this.#end?.()
  }

  /** How many more may start: 0 or at least `MIN_CLAIM`. */
  capacity(now: number): number {
    for (const [check, startedAt] of this.#fast) {
      if (now - startedAt < SLOW_AFTER_MS) break
      this.#fast.delete(check)
      this.#slow.add(check)
    }
    const capacity = Math.min(MAX_FAST_IN_FLIGHT - this.#fast.size, MAX_IN_FLIGHT - this.#fast.size - this.#slow.size)
    return capacity < MIN_CLAIM ? 0 : capacity
  }

  /** The organizations with more than `MAX_IN_TURN` checks in progress. */
  full(): string[] {
    return [...this.#byOrganization].flatMap(([id, count]) => (count > MAX_IN_TURN ? [id] : []))
  }

  slots(): ReadonlySet<number> {
    return new Set([...this.#fast.keys(), ...this.#slow].map(({ slot }) => slot))
  }

  /** Resolves when no check is in progress. No more may start. */
  async idle(): Promise<void> {
    if (this.#isEmpty()) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#end = resolve
    await promise
  }

  #isEmpty(): boolean {
    return this.#fast.size + this.#slow.size === 0
  }
}
