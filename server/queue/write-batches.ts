import type { Clock } from '../clock.ts'
import { isDatabaseUnavailable } from '../database/unavailable.ts'

type Pending<T> = { item: T; done: (isWritten: boolean) => void }
type Options = {
  clock: Clock
  gatherMs: number
  /** Items of one batch at most; a full batch is written at once. */
  maxBatchSize?: number
  onGivenUp: (error: unknown, items: number) => void
  onWritten?: () => void
}

/**
 * Collects items that finish one by one and writes them in batches, one batch at a time. While the database is unavailable, a write is
 * retried for as long as the leases of its items are likely to last. After any other error the items are written one by one, so that a
 * bad item does not block the others. An item that still fails is reported and dropped: its lease expires, and the work is repeated.
 */
export class WriteBatches<T> {
  readonly #write: (items: T[]) => Promise<void>
  readonly #options: Options
  readonly #maxBatchSize: number
  #pending: Pending<T>[] = []
  #writing = false

  constructor(write: (items: T[]) => Promise<void>, options: Options) {
    this.#write = write
    this.#options = options
    this.#maxBatchSize = options.maxBatchSize ?? MAX_BATCH_SIZE
  }

  /** Resolves when the item was written (true) or dropped (false). The caller limits how many are pending. */
  add(item: T): Promise<boolean> {
    return new Promise((resolve) => {
      this.#pending.push({ item, done: resolve })
      if (!this.#writing) void this.#run()
    })
  }

  async #run(): Promise<void> {
    this.#writing = true
    while (this.#pending.length > 0) {
      if (this.#pending.length < this.#maxBatchSize) await this.#options.clock.sleep(this.#options.gatherMs)
      const batch = this.#pending.splice(0, this.#maxBatchSize)
      const dropped = await this.#writeOrSplit(batch.map(({ item }) => item))
      for (const { item, done } of batch) done(!dropped.has(item))
    }
    this.#writing = false
  }

  /** Returns the items that were dropped. */
  async #writeOrSplit(items: T[]): Promise<ReadonlySet<T>> {
    const dropped = new Set<T>()
    const giveUp = (error: unknown, givenUp: readonly T[]) => {
      this.#options.onGivenUp(error, givenUp.length)
      for (const item of givenUp) dropped.add(item)
    }
    try {
      await this.#writeWithRetries(items)
    } catch (error) {
      if (items.length === 1 || isDatabaseUnavailable(error)) giveUp(error, items)
      else for (const item of items) await this.#writeWithRetries([item]).catch((error) => giveUp(error, [item]))
    }
    return dropped
  }

  async #writeWithRetries(items: T[]): Promise<void> {
    for (const delayMs of RETRY_DELAYS_MS) {
      try {
        await this.#write(items)
        return this.#options.onWritten?.()
      } catch (error) {
        if (!isDatabaseUnavailable(error)) throw error
        await this.#options.clock.sleep(delayMs)
      }
    }
    await this.#write(items)
    this.#options.onWritten?.()
  }
}

/** 30 s in total: half of a lease, because the work took a part of it. */
const RETRY_DELAYS_MS = [100, 200, 400, 800, 1_500, ...Array<number>(9).fill(3_000)]

/** Longer transactions would delay all other writers. */
const MAX_BATCH_SIZE = 500
