import { expect, test } from 'vitest'
import type { Clock } from '../clock.ts'
import { Busy } from './busy.ts'
import { createPace } from './pace.ts'

const HOUR_MS = 3_600_000

function givenClock(): Clock & { advance(ms: number): void } {
  let now = 0
  return {
    now: () => now,
    elapsed: () => now,
    sleep: async (ms) => {
      now += ms
    },
    advance: (ms) => {
      now += ms
    },
  }
}

async function timesOf(count: number, perSecond: number, clock = givenClock()): Promise<number[]> {
  const pace = createPace(perSecond, clock)
  const times: number[] = []
  for (let asked = 0; asked < count; asked++) {
    await pace.wait(HOUR_MS, undefined)
    times.push(clock.elapsed())
  }
  return times
}

test("a second's worth goes at once, the rest evenly", async () => {
  const times = await timesOf(150, 50)
  expect(times.slice(0, 50)).toEqual(Array(50).fill(0))
  expect(times.slice(50)).toEqual(Array.from({ length: 100 }, (_, at) => 20 * (at + 1)))
})

test('a long rest earns no more than one burst', async () => {
  const clock = givenClock()
  await timesOf(100, 50, clock)
  clock.advance(60_000)
  const at = clock.elapsed()
  expect((await timesOf(60, 50, clock)).map((time) => time - at).filter((ms) => ms === 0)).toHaveLength(50)
})

test('who would wait too long is sent away, each until another turn, and keeps no place', async () => {
  const clock = givenClock()
  const pace = createPace(10, { ...clock, sleep: async () => {} })
  for (let asked = 0; asked < 30; asked++) void pace.wait(2_000, undefined)
  const retries = Array.from({ length: 3 }, () => {
    try {
      pace.wait(2_000, undefined)
    } catch (error) {
      return (error as Busy).retryInMs
    }
    return 'let in'
  })
  expect(retries).toEqual([2_200, 2_300, 2_400])
  expect(() => pace.wait(2_000, undefined)).toThrow(Busy)
  clock.advance(100)
  expect(pace.wait(2_000, undefined)).toBeInstanceOf(Promise)
})

test('without a limit nothing waits', () => {
  expect(createPace(Number.POSITIVE_INFINITY, givenClock()).wait(HOUR_MS, undefined)).toBeUndefined()
})

test('who gives up leaves no gap behind', async () => {
  const sleeps: number[] = []
  const pace = createPace(1, { ...givenClock(), sleep: async (ms) => void sleeps.push(ms) })
  pace.wait(HOUR_MS, undefined)
  for (let gone = 0; gone < 3; gone++)
    await expect(pace.wait(HOUR_MS, AbortSignal.abort(new Error('enough')))).rejects.toThrow()
  await pace.wait(HOUR_MS, undefined)
  expect(sleeps).toEqual([1000, 1000, 1000, 1000])
})

test('who gives up does not wait', async () => {
  const pace = createPace(1, givenClock())
  pace.wait(HOUR_MS, undefined)
  await expect(pace.wait(HOUR_MS, AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough')
})
