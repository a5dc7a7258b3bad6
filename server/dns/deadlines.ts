import type { Clock } from '../clock.ts'

/**
 * Many deadlines on one timer. `add` returns how to take the deadline back; `at` is in the clock's elapsed milliseconds
 * and met at most `TICK_MS` late. `close` meets all of them at once.
 */
export type Deadlines = { add(at: number, meet: () => void): () => void; close(): void }

const TICK_MS = 10

type Deadline = { at: number; meet: (() => void) | undefined }

export function createDeadlines(clock: Clock): Deadlines {
  const waiting = new Set<Deadline>()
  let turning = false

  // Runs only while something waits, so that nothing keeps a finished process alive.
  async function turn(): Promise<void> {
    turning = true
    while (waiting.size > 0) {
      await clock.sleep(TICK_MS)
      meetUntil(clock.elapsed())
    }
    turning = false
  }

  function meetUntil(now: number): void {
    for (const deadline of waiting) {
      if (deadline.at > now) continue
      waiting.delete(deadline)
      deadline.meet?.()
    }
  }

  return {
    add(at, meet) {
      const deadline: Deadline = { at, meet }
      waiting.add(deadline)
      if (!turning) void turn()
      return () => {
        waiting.delete(deadline)
        // The tables that a busy Set outgrows keep its former members in memory for long: this one then holds nothing.
        deadline.meet = undefined
      }
    },
    close: () => meetUntil(Number.POSITIVE_INFINITY),
  }
}
