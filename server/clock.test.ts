import { expect, test } from 'vitest'
import { type Clock, watchClock } from './clock.ts'

const DAY_MS = 24 * 60 * 60_000
const NOW = Date.UTC(2026, 10, 21, 9, 30)

test('a clock that is set back is noticed once, one that is set forward or drifts is not', () => {
  let [now, elapsed] = [NOW, 0]
  const clock: Clock = { now: () => now, elapsed: () => elapsed, sleep: async () => {} }
  const wasSetBack = watchClock(clock)
  const pass = (ms: number, jump: number) => {
    elapsed += ms
    now += ms + jump
    return wasSetBack()
  }
  expect([pass(200, 0), pass(200, -900), pass(5, DAY_MS), pass(200, -DAY_MS), pass(200, 0)]).toEqual([
    false,
    false,
    false,
    true,
    false,
  ])
})
