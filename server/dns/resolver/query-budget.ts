/** How many queries to name servers one check may send. A hostile zone could otherwise make each of its many resolutions send as many as one may. */
export class QueryBudget {
  readonly #byZone = new Map<string, number>()
  #left = MAX_QUERIES

  /** How many more may be sent to the servers of the zone. */
  leftFor(zone: string): number {
    return Math.min(this.#left, MAX_PER_ZONE - (this.#byZone.get(zone) ?? 0))
  }

  /** How many were sent. */
  get spent(): number {
    return MAX_QUERIES - this.#left
  }

  isExhausted(): boolean {
    return this.#left <= 0
  }

  spend(zone: string, queries: number): void {
    this.#left -= queries
    this.#byZone.set(zone, (this.#byZone.get(zone) ?? 0) + queries)
  }
}

const MAX_QUERIES = 200
/** More than the answers that a rotating RRset needs. */
const MAX_PER_ZONE = 100
