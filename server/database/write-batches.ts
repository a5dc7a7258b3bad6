import type { Clock } from '../clock.ts'
import { isDatabaseUnavailable } from './unavailable.ts'

type Waiting<T> = { item: T; done: () => void }
type Options = {
  clock: Clock
  gatherMs: number
  /** Items written together; a batch that is full waits for no more. */
  most?: number
  onGivenUp: (error: unknown, items: number) => void
}

/**
 * Gathers what finishes one by one and writes it together: one write at a time, and what comes meanwhile is the next one.
 * While the database is away a write is tried again, for as long as the leases of its items are likely to hold. One that
 * fails otherwise is tried again item by item, so that one bad item cannot hold back the others. What still fails is
 * reported and given up, because its lease runs out and the work is done again.
 */
export class WriteBatches<T> {
  readonly #write: (items: T[]) => Promise<void>
  readonly #options: Options
  readonly #most: number
  #waiting: Waiting<T>[] = []
  #writing = false

  constructor(write: (items: T[]) => Promise<void>, options: Options) {
    this.#write = write
    this.#options = options
    this.#most = options.most ?? MOST
  }

  /** Resolves when the item was written or given up. The caller bounds how many wait. */
  add(item: T): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ item, done: resolve })
      if (!this.#writing) void this.#run()
    })
  }

  async #run(): Promise<void> {
    this.#writing = true
    while (this.#waiting.length > 0) {
      if (this.#waiting.length < this.#most) await this.#options.clock.sleep(this.#options.gatherMs)
      const batch = this.#waiting.splice(0, this.#most)
      await this.#writeOrSplit(batch.map(({ item }) => item))
      for (const { done } of batch) done()
    }
    this.#writing = false
  }

  async #writeOrSplit(items: T[]): Promise<void> {
    try {
      await this.#writeWhenBack(items)
    } catch (error) {
      if (items.length === 1 || isDatabaseUnavailable(error)) return this.#options.onGivenUp(error, items.length)
      for (const item of items) {
        await this.#writeWhenBack([item]).catch((error: unknown) => this.#options.onGivenUp(error, 1))
      }
    }
  }

  async #writeWhenBack(items: T[]): Promise<void> {
    for (const delayMs of AWAY_DELAYS_MS) {
      try {
        return await this.#write(items)
      } catch (error) {
        if (!isDatabaseUnavailable(error)) throw error
        await this.#options.clock.sleep(delayMs)
      }
    }
    await this.#write(items)
  }
}

/** 30 s in all: half of a lease, since the work itself took its part. */
const AWAY_DELAYS_MS = [100, 200, 400, 800, 1_500, ...Array<number>(9).fill(3_000)]

/** Longer transactions would delay all other writers. */
const MOST = 500
