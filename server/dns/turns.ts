/** Those who wait for something, in queues by group: groups take turns, and within one the first comes first. */
export type Turns = {
  /** Resolves when `callNext` calls it. Rejects with the reason of the signal or of `refuseAll`. */
  wait(signal: AbortSignal | undefined, group: string): Promise<void>
  /** Calls the next one that has not given up. Returns false if nobody waits. */
  callNext(): boolean
  refuseAll(reason: Error): void
  /** Those who gave up count until their turn comes, because they use memory too. */
  count(): number
  countOf(group: string): number
  /** How many are called before one of the group that comes now. */
  countBefore(group: string): number
}

type Waiter = { resolve: () => void; reject: (reason: unknown) => void; isAborted: boolean; next: Waiter | undefined }
/** `aborted`: how many of `count` gave up. */
type Queue = { first: Waiter; last: Waiter; count: number; aborted: number }

export function createTurns(): Turns {
  let count = 0
  const queues = new Map<string, Queue>() // in the order of their turns

  function enqueue(waiter: Waiter, group: string): Queue {
    count++
    let queue = queues.get(group)
    if (queue) queue.last.next = waiter
    else queue = { first: waiter, last: waiter, count: 0, aborted: 0 }
    queue.last = waiter
    queue.count++
    queues.set(group, queue)
    return queue
  }

  function dequeue(): Waiter | undefined {
    for (const [group, queue] of queues) {
      queues.delete(group)
      for (let waiter: Waiter | undefined = queue.first; waiter; waiter = waiter.next) {
        count--
        queue.count--
        if (waiter.isAborted) {
          queue.aborted--
          continue
        }
        if (waiter.next) queues.set(group, Object.assign(queue, { first: waiter.next }))
        return waiter
      }
    }
    return undefined
  }

  const countOf = (group: string) => queues.get(group)?.count ?? 0

  return {
    wait(signal, group) {
      return new Promise((resolve, reject) => {
        const waiter: Waiter = { resolve, reject, isAborted: false, next: undefined }
        const queue = enqueue(waiter, group)
        if (!signal) return
        const stopListening = onAbort(signal, () => {
          waiter.isAborted = true
          queue.aborted++
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
      })
    },
    callNext() {
      const waiter = dequeue()
      waiter?.resolve()
      return waiter !== undefined
    },
    refuseAll(reason) {
      for (let waiter = dequeue(); waiter; waiter = dequeue()) waiter.reject(reason)
    },
    count: () => count,
    countOf,
    countBefore(group) {
      const own = remaining(queues.get(group))
      let before = own
      for (const [other, queue] of queues) if (other !== group) before += Math.min(remaining(queue), own + 1)
      return before
    },
  }
}

const remaining = (queue: Queue | undefined) => (queue ? queue.count - queue.aborted : 0)

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
