import type { Clock } from '../clock.ts'

/**
 * Many deadlines on one timer. `add` returns a function that cancels the deadline. `at`: the clock's elapsed milliseconds.
 * `onExpired` is called at most `TICK_MS` late. `close` expires all deadlines at once.
 */
export type Deadlines = { add(at: number, onExpired: () => void): () => void; close(): void }

const TICK_MS = 10

type Deadline = { at: number; onExpired: (() => void) | undefined }

export function createDeadlines(clock: Clock): Deadlines {
  const pending = new Set<Deadline>()
  let isRunning = false

  // Runs only while a deadline is pending, so that it does not keep a finished process alive.
  async function run(): Promise<void> {
    isRunning = true
    while (pending.size > 0) {
      await clock.sleep(TICK_MS)
      expireUntil(clock.elapsed())
    }
    isRunning = false
  }

  function expireUntil(now: number): void {
    for (const deadline of pending) {
      if (deadline.at > now) continue
      pending.delete(deadline)
      deadline.onExpired?.()
    }
  }

  return {
    add(at, meet) {
      const deadline: Deadline = { at, onExpired: meet }
      pending.add(deadline)
      if (!isRunning) void run()
      return () => {
        pending.delete(deadline)
        // A Set that grew keeps deleted members in memory for a while, so release what the callback holds.
        deadline.onExpired = undefined
      }
    },
    close: () => expireUntil(Number.POSITIVE_INFINITY),
  }
}
