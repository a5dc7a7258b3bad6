import { expect, test } from 'vitest'
import { createDeadlines } from './deadlines.ts'

test('a deadline is met when its time has come, and not when it was taken back before', async () => {
  let elapsed = 0
  const sleep = async (ms: number) => {
    elapsed += ms
  }
  const clock = { now: () => elapsed, elapsed: () => elapsed, sleep }
  const deadlines = createDeadlines(clock)
  const met: string[] = []
  deadlines.add(25, () => met.push('kept'))
  const takeBack = deadlines.add(15, () => met.push('taken back'))
  takeBack()
  takeBack()

  await expect.poll(() => met).toEqual(['kept'])
  expect(elapsed).toBe(30)
})

test('closing meets all that waits at once', () => {
  const clock = { now: () => 0, elapsed: () => 0, sleep: () => new Promise<void>(() => {}) }
  const deadlines = createDeadlines(clock)
  let met = 0
  deadlines.add(1_000, () => met++)
  deadlines.add(2_000, () => met++)
  deadlines.close()
  expect(met).toBe(2)
})
