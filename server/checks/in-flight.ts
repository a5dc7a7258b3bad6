import { ORGANIZATION_SHARE } from '../queue/organization-share.ts'

/** Checks in progress for less than `SLOW_AFTER_MS`. Further due checks wait in the database, oldest first. */
export const MAX_FAST_IN_FLIGHT = 2_000
/** Including slow checks, which wait for slow or unresponsive servers and must not delay the others. */
export const MAX_IN_FLIGHT = 10_000
export const SLOW_AFTER_MS = 1_000
/** A claim of a few checks costs nearly as much as one of many, so smaller ones are not made. */
export const MIN_CLAIM = 50
type RunningCheck = { slot: number; organization_id: string }

/** The checks that have started and are not recorded yet. Times are the clock's elapsed milliseconds. */
export class InFlight<Check extends RunningCheck = RunningCheck> {
  /** With their start times, oldest first. */
  readonly #fast = new Map<Check, number>()
  readonly #slow = new Set<Check>()
  /** Without a result, with the start of their leases, the oldest first. */
  readonly #undecided = new Map<Check, number>()
  readonly #byOrganization = new Map<string, { fast: number; slow: number }>()
  #end: (() => void) | undefined

  start(check: Check, now: number): void {
    this.#count(check, { fast: 1 })
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
    if (this.#fast.delete(check)) this.#count(check, { fast: -1 })
    else if (this.#slow.delete(check)) this.#count(check, { slow: -1 })
    if (this.#isEmpty()) this.#end?.()
  }

  /** How many more may start: 0 or at least `MIN_CLAIM`. */
  capacity(now: number): number {
    for (const [check, startedAt] of this.#fast) {
      if (now - startedAt < SLOW_AFTER_MS) break
      this.#fast.delete(check)
      this.#slow.add(check)
      this.#count(check, { fast: -1, slow: 1 })
    }
    const capacity = Math.min(this.#freeFast(), this.#free())
    return capacity < MIN_CLAIM ? 0 : capacity
  }

  /** The organizations that have their share of the capacity, after a call of `capacity`. */
  full(): string[] {
    const hasShare = (own: number, free: number) => own >= (free + own) * ORGANIZATION_SHARE
    return [...this.#byOrganization].flatMap(([id, { fast, slow }]) =>
      hasShare(fast, this.#freeFast()) || hasShare(fast + slow, this.#free()) ? [id] : [],
    )
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

  #freeFast = () => MAX_FAST_IN_FLIGHT - this.#fast.size
  #free = () => MAX_IN_FLIGHT - this.#fast.size - this.#slow.size

  #count({ organization_id: id }: Check, { fast = 0, slow = 0 }: { fast?: number; slow?: number }): void {
    const before = this.#byOrganization.get(id) ?? { fast: 0, slow: 0 }
    const now = { fast: before.fast + fast, slow: before.slow + slow }
    if (now.fast + now.slow > 0) this.#byOrganization.set(id, now)
    else this.#byOrganization.delete(id)
  }

  #isEmpty(): boolean {
    return this.#fast.size + this.#slow.size === 0
  }
}
