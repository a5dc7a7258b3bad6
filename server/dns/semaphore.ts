/** A limited number of slots, and a limited queue that waits for them: those who wait take turns by `group`, first come within one. */
export type Semaphore = {
  /** Resolves when a slot is acquired; undefined if one is free now. Rejects with the signal's reason. Throws `OverloadError` if the queue is full. */
  acquire(signal: AbortSignal | undefined, group?: string): Promise<void> | undefined
  /** Releases the slot while its holder waits for a late response. Returns false if too many have done so. */
  releaseEarly(): boolean
  /** Once for each acquired slot. `isReleased`: what `releaseEarly` returned. */
  release(isReleased?: boolean): void
  /** Rejects everyone who waits or acquires later. */
  close(reason: Error): void
  /** Whether nobody holds a slot or waits for one. */
  isIdle(): boolean
  /** `held` includes slots that were released early. */
  counts(): { held: number; waiting: number }
}

type Waiter = { resolve: () => void; reject: (reason: unknown) => void; isAborted: boolean; next: Waiter | undefined }

/** A full queue is worth a retry then: a large part of it has ended, even if the server does not respond. */
const FULL_QUEUE_MS = 30_000

/** `earlyLimit`: how many holders may have released their slot early. */
export function createSemaphore(limit: number, waitingLimit: number, earlyLimit = 0): Semaphore {
  let held = 0
  let releasedEarly = 0
  let closed: Error | undefined
  let waiting = 0 // aborted ones included until they are dequeued, because they hold memory too
  const queues = new Map<string, { first: Waiter; last: Waiter }>() // by group, in the order of their turns

  function enqueue(waiter: Waiter, group: string): void {
    const queue = queues.get(group)
    if (queue) {
      queue.last.next = waiter
      queue.last = waiter
    } else queues.set(group, { first: waiter, last: waiter })
    waiting++
  }

  function dequeue(): Waiter | undefined {
    for (const [group, queue] of queues) {
      const waiter = queue.first
      queues.delete(group)
      if (waiter.next) queues.set(group, { first: waiter.next, last: queue.last })
      waiting--
      if (!waiter.isAborted) return waiter
    }
    return undefined
  }

  function wait(signal: AbortSignal | undefined, group: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { resolve, reject, isAborted: false, next: undefined }
      if (signal) {
        const stopListening = onAbort(signal, () => {
          waiter.isAborted = true
          reject(signal.reason)
        })
        waiter.resolve = () => {
          stopListening()
          resolve()
        }
        waiter.reject = (reason) => {
          stopListening()
          reject(reason)
        }
      }
      enqueue(waiter, group)
    })
  }

  function passSlotOn(): void {
    const waiter = dequeue()
    if (waiter) waiter.resolve()
    else held--
  }

  return {
    acquire(signal, group = '') {
      if (closed) return Promise.reject(closed)
      if (signal?.aborted) return Promise.reject(signal.reason)
      if (held < limit) {
        held++
        return undefined
      }
      if (waiting < waitingLimit) return wait(signal, group)
      throw new OverloadError(FULL_QUEUE_MS)
    },
    releaseEarly() {
      if (releasedEarly >= earlyLimit) return false
      releasedEarly++
      passSlotOn()
      return true
    },
    release(isReleased = false) {
      if (isReleased) releasedEarly--
      else passSlotOn()
    },
    close(reason) {
      closed = reason
      for (let waiter = dequeue(); waiter; waiter = dequeue()) waiter.reject(reason)
    },
    isIdle: () => held === 0 && releasedEarly === 0 && waiting === 0,
    counts: () => ({ held: held + releasedEarly, waiting }),
  }
}

const listeners = new WeakMap<AbortSignal, Set<() => void>>()

/**
 * Calls `listener` when the signal is aborted. All listeners of a signal share one of its own: thousands of checks wait with the same
 * signal, and adding or removing a listener of an EventTarget takes longer the more it has.
 */
function onAbort(signal: AbortSignal, listener: () => void): () => void {
  let all = listeners.get(signal)
  if (!all) {
    const added = new Set<() => void>()
    signal.addEventListener('abort', () => added.forEach((each) => void each()), { once: true })
    listeners.set(signal, added)
    all = added
  }
  all.add(listener)
  return () => void all.delete(listener)
}

/** So many queries to a server are pending that one more would be sent too late. It says nothing about the server. */
export class OverloadError extends Error {
  readonly retryInMs: number

  constructor(retryInMs: number) {
    super(`Too many queries to one name server are pending. Retry in ${Math.ceil(retryInMs / 1000)} s.`)
    this.retryInMs = retryInMs
  }
}
