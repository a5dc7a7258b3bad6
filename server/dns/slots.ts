import { Busy } from './busy.ts'

/** A bounded number of things under way, and a bounded first-come queue of those that wait for a place. */
export type Slots = {
  /** Resolves when there is a place; undefined where there is one. Rejects with the signal's reason, and throws `Busy`. */
  acquire(signal: AbortSignal | undefined): Promise<void> | undefined
  /** Gives a place back, once for each `acquire` that got one. */
  release(): void
  /** Rejects all that wait, and whoever comes later. */
  close(reason: Error): void
  /** Whether nobody holds a place or waits for one. */
  isIdle(): boolean
}

type Waiter = { admit: () => void; refuse: (reason: unknown) => void; gone: boolean; next: Waiter | undefined }

/** When a full queue is worth another look: a good part of it is gone by then, even at a silent server. */
const FULL_QUEUE_MS = 30_000

export function createSlots(limit: number, waitingLimit: number): Slots {
  let taken = 0
  let closed: Error | undefined
  let waiting = 0 // those that gave up included, until their turn comes: they hold memory too
  let first: Waiter | undefined
  let last: Waiter | undefined

  function enqueue(waiter: Waiter): void {
    if (last) last.next = waiter
    else first = waiter
    last = waiter
    waiting++
  }

  function dequeue(): Waiter | undefined {
    while (first) {
      const waiter = first
      first = waiter.next
      if (!first) last = undefined
      waiting--
      if (!waiter.gone) return waiter
    }
    return undefined
  }

  function wait(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        waiter.gone = true
        reject(signal?.reason)
      }
      const leave =
        <T>(settle: (value: T) => void) =>
        (value: T) => {
          signal?.removeEventListener('abort', giveUp)
          settle(value)
        }
      const waiter: Waiter = { admit: leave(resolve), refuse: leave(reject), gone: false, next: undefined }
      signal?.addEventListener('abort', giveUp, { once: true })
      enqueue(waiter)
    })
  }

  return {
    acquire(signal) {
      if (closed) return Promise.reject(closed)
      if (signal?.aborted) return Promise.reject(signal.reason)
      if (taken < limit) {
        taken++
        return undefined
      }
      if (waiting < waitingLimit) return wait(signal)
      throw new Busy(FULL_QUEUE_MS)
    },
    release() {
      const waiter = dequeue()
      if (waiter) waiter.admit()
      else taken--
    },
    close(reason) {
      closed = reason
      for (let waiter = dequeue(); waiter; waiter = dequeue()) waiter.refuse(reason)
    },
    isIdle: () => taken === 0 && waiting === 0,
  }
}
