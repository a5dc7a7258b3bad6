import type { Semaphore } from '../semaphore.ts'

/**
 * What the queries of one check may cost. A hostile zone could otherwise make each of its many resolutions send as many as one may, and
 * answer each with 64 KiB that the check keeps as evidence. `places`: of all checks, for those with large answers. `group`: of the organization.
 */
export class QueryBudget {
  readonly #byZone = new Map<string, number>()
  #left = MAX_QUERIES
  #octets = 0
  readonly #places: Semaphore | undefined
  readonly #group: string | undefined
  #waiting: Promise<void> | undefined
  #hasPlace = false
  #isClosed = false

  constructor(places?: Semaphore, group?: string) {
    this.#places = places
    this.#group = group
  }

  /** How many more may be sent to the servers of the zone. */
  leftFor(zone: string): number {
    return this.isFull ? 0 : Math.min(this.#left, MAX_PER_ZONE - (this.#byZone.get(zone) ?? 0))
  }

  /** How many were sent. */
  get spent(): number {
    return MAX_QUERIES - this.#left
  }

  isExhausted(): boolean {
    return this.#left <= 0 || this.isFull
  }

  spend(zone: string, queries: number): void {
    this.#left -= queries
    this.#byZone.set(zone, (this.#byZone.get(zone) ?? 0) + queries)
  }

  /** The check keeps so many more octets of answers. */
  keep(octets: number): void {
    this.#octets += octets
  }

  /** Whether the check keeps as much as it may. */
  get isFull(): boolean {
    return this.#octets >= MAX_OCTETS
  }

  /** Whether the check keeps so much that it needs a place before it sends more queries. */
  get isLarge(): boolean {
    return this.#octets >= LARGE_OCTETS
  }

  /**
   * Before a query over TCP, whose answer may have 64 KiB: waits until the check is one of those that may have such answers. It stays one
   * until `close`, so it waits once. Rejects with the signal's reason, and with `OverloadError`.
   */
  async takePlace(signal: AbortSignal | undefined): Promise<void> {
    while (this.#places && !this.#hasPlace && !this.#isClosed) {
      this.#waiting ??= this.#acquire(this.#places, signal).finally(() => {
        this.#waiting = undefined
      })
      try {
        await this.#waiting
      } catch (error) {
        // Queries of a check wait together. The one that began to wait may have been given up.
        if (signal?.aborted || error instanceof Error) throw error
      }
    }
  }

  /** The check is over. */
  close(): void {
    this.#isClosed = true
    if (this.#hasPlace) this.#places?.release()
    this.#hasPlace = false
  }

  async #acquire(places: Semaphore, signal: AbortSignal | undefined): Promise<void> {
    await places.acquire(signal, this.#group)
    if (this.#isClosed) places.release()
    else this.#hasPlace = true
  }
}

const MAX_QUERIES = 200
/** More than the answers that a rotating RRset needs. */
const MAX_PER_ZONE = 100
/** Eight different answers of the largest size, or 72 of a pool with 100 addresses each. What is more takes the CPU, too. */
const MAX_OCTETS = 512 * 1024
/** More than nearly every check keeps whose answers fit into UDP packets. */
const LARGE_OCTETS = 32 * 1024
/** Checks with large answers at a time in a process: what they keep is at most about 16 MiB. */
export const LARGE_CHECKS = 32
