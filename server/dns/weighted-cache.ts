/**
 * Entries up to a count and a total weight: answers of a hostile zone may be a thousand times larger than those of others. The least
 * recently used go first.
 */
export class WeightedCache<T> {
  readonly #entries = new Map<string, { value: T; weight: number }>()
  readonly #limit: { entries: number; weight: number }
  readonly #weightOf: (value: T) => number
  #weight = 0

  constructor(limit: { entries: number; weight: number }, weightOf: (value: T) => number) {
    this.#limit = limit
    this.#weightOf = weightOf
  }

  get(key: string): T | undefined {
    const entry = this.#entries.get(key)
    if (!entry) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry.value
  }

  set(key: string, value: T): void {
    this.delete(key)
    const weight = this.#weightOf(value)
    this.#entries.set(key, { value, weight })
    this.#weight += weight
    for (const [oldest] of this.#entries) {
      if (this.#entries.size <= this.#limit.entries && this.#weight <= this.#limit.weight) break
      this.delete(oldest)
    }
  }

  delete(key: string): void {
    this.#weight -= this.#entries.get(key)?.weight ?? 0
    this.#entries.delete(key)
  }
}
