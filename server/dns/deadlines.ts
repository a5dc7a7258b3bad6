import type { Clock } from '../clock.ts'

/**
 * Many deadlines on one timer. `add` returns how to take the deadline back; `at` is in the clock's elapsed milliseconds
 * and met at most `TICK_MS` late. `close` meets all of them at once.
 */
export type Deadlines = { add(at: number, onExpired: () => void): () => void; close(): void }

const TICK_MS = 10

type Deadline = { at: number; onExpired: (() => void) | undefined }

export function createDeadlines(clock: Clock): Deadlines {
  const waiting = new Set<Deadline>()
  let isRunning = false

  // Runs only while something waits, so that nothing keeps a finished process alive.
  async function run(): Promise<void> {
    isRunning = true
    while (waiting.size > 0) {
      await clock.sleep(TICK_MS)
      expireUntil(clock.elapsed())
    }
    isRunning = false
  }

  function expireUntil(now: number): void {
    for (const deadline of waiting) {
      if (deadline.at > now) continue
      waiting.delete(deadline)
      deadline.onExpired?.()
    }
  }

  return {
    add(at, meet) {
      const deadline: Deadline = { at, onExpired: meet }
      waiting.add(deadline)
      if (!isRunning) void run()
      return () => {
        waiting.delete(deadline)
        // The tables that a busy Set outgrows keep its former members in memory for long: this one then holds nothing.
        deadline.onExpired = undefined
      }
    },
    close: () => expireUntil(Number.POSITIVE_INFINITY),
  }
}
