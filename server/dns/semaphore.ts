import { createTurns } from './turns.ts'

/** A limited number of slots, and a limited queue that waits for them: those who wait take turns by `group`, first come within one. */
export type Semaphore = {
  /**
   * Resolves when a slot is acquired; undefined if one is free now. Rejects with the signal's reason. Throws `OverloadError` if the
   * queue, or the part of it that the group may fill, is full.
   */
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

/** A full queue is worth a retry then: a large part of it has ended, even if the server does not respond. */
const FULL_QUEUE_MS = 30_000
/** What one group may fill of the places in the queue that the others leave, so that some are always left. */
const GROUP_SHARE = 1 / 2

/** `earlyLimit`: how many holders may have released their slot early. */
export function createSemaphore(limit: number, waitingLimit: number, earlyLimit = 0): Semaphore {
  let held = 0
  let releasedEarly = 0
  let closed: Error | undefined
  const turns = createTurns()

  function mayWait(group: string): boolean {
    const own = turns.countOf(group)
    const left = waitingLimit - turns.count()
    return left > 0 && (own === 0 || own < (left + own) * GROUP_SHARE)
  }

  function passSlotOn(): void {
    if (!turns.callNext()) held--
  }

  return {
    acquire(signal, group = '') {
      if (closed) return Promise.reject(closed)
      if (signal?.aborted) return Promise.reject(signal.reason)
      if (held < limit) {
        held++
        return undefined
      }
      if (mayWait(group)) return turns.wait(signal, group)
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
      turns.refuseAll(reason)
    },
    isIdle: () => held === 0 && releasedEarly === 0 && turns.count() === 0,
    counts: () => ({ held: held + releasedEarly, waiting: turns.count() }),
  }
}

/** So many queries to a server are pending that one more would be sent too late. It says nothing about the server. */
export class OverloadError extends Error {
  readonly retryInMs: number

  constructor(retryInMs: number) {
    super(`Too many queries to one name server are pending. Retry in ${Math.ceil(retryInMs / 1000)} s.`)
    this.retryInMs = retryInMs
  }
}
