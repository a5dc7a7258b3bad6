import { expect, test } from 'vitest'
import { type Clock, watchForStepBack } from './clock.ts'

const DAY_MS = 24 * 60 * 60_000
const NOW = Date.UTC(2026, 10, 21, 9, 30)

test('a clock that is set back is reported once; a step forward and drift are not', () => {
  let [now, elapsed] = [NOW, 0]
  const clock: Clock = { now: () => now, elapsed: () => elapsed, sleep: async () => {} }
  const wasSetBack = watchForStepBack(clock)
  const advance = (ms: number, stepMs: number) => {
    elapsed += ms
    now += ms + stepMs
    return wasSetBack()
  }
  expect([advance(200, 0), advance(200, -900), advance(5, DAY_MS), advance(200, -DAY_MS), advance(200, 0)]).toEqual([
    false,
    false,
    false,
    true,
    false,
  ])
})
