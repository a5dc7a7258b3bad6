/** A bounded number of things in progress, and a bounded first-come queue of those that wait for a place. */
export type Semaphore = {
  /** Resolves when there is a place; undefined where there is one. Rejects with the signal's reason, and throws `OverloadError`. */
  acquire(signal: AbortSignal | undefined): Promise<void> | undefined
  /** Releases the slot while its holder waits for an answer that is late. Returns false beyond a bound. */
  releaseEarly(): boolean
  /** Gives a place back, once for each `acquire` that got one; `isAside`: what `stepAside` said. */
  release(isAside?: boolean): void
  /** Rejects all that wait, and anyone who comes later. */
  close(reason: Error): void
  /** Whether nobody holds a place or waits for one. */
  isIdle(): boolean
  /** How many hold a permit, slow ones that no longer count against the limit included, and how many wait for one. */
  counts(): { held: number; waiting: number }
}

type Waiter = { admit: () => void; refuse: (reason: unknown) => void; gone: boolean; next: Waiter | undefined }

/** When a full queue is worth another look: a good part of it is gone by then, even at a silent server. */
const FULL_QUEUE_MS = 30_000

/** `asideLimit`: how many may stand aside. */
export function createSemaphore(limit: number, waitingLimit: number, asideLimit = 0): Semaphore {
  let taken = 0
  let aside = 0
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
      if (!signal) return enqueue({ admit: resolve, refuse: reject, gone: false, next: undefined })
      const giveUp = () => {
        waiter.gone = true
        reject(signal.reason)
      }
      const leave =
        <T>(settle: (value: T) => void) =>
        (value: T) => {
          signal.removeEventListener('abort', giveUp)
          settle(value)
        }
      const waiter: Waiter = { admit: leave(resolve), refuse: leave(reject), gone: false, next: undefined }
      signal.addEventListener('abort', giveUp, { once: true })
      enqueue(waiter)
    })
  }

  function giveOn(): void {
    const waiter = dequeue()
    if (waiter) waiter.admit()
    else taken--
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
      throw new OverloadError(FULL_QUEUE_MS)
    },
    releaseEarly() {
      if (aside >= asideLimit) return false
      aside++
      giveOn()
      return true
    },
    release(isAside = false) {
      if (isAside) aside--
      else giveOn()
    },
    close(reason) {
      closed = reason
      for (let waiter = dequeue(); waiter; waiter = dequeue()) waiter.refuse(reason)
    },
    isIdle: () => taken === 0 && aside === 0 && waiting === 0,
    counts: () => ({ held: taken + aside, waiting }),
  }
}

/** So much is to be asked of a server that the turn of one more question would come too late. Says nothing about the server. */
export class OverloadError extends Error {
  /** When there is likely to be a turn. */
  readonly retryInMs: number

  constructor(retryInMs: number) {
    super(`Too many queries to one name server are pending. Retry in ${Math.ceil(retryInMs / 1000)} s.`)
    this.retryInMs = retryInMs
  }
}
