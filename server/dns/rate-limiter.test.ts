import { expect, test } from 'vitest'
import type { Clock } from '../clock.ts'
import { createRateLimiter } from './rate-limiter.ts'
import { OverloadError } from './semaphore.ts'

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
  const rateLimiter = createRateLimiter(perSecond, clock)
  const times: number[] = []
  for (let asked = 0; asked < count; asked++) {
    await rateLimiter.wait(HOUR_MS, undefined)
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
  const rateLimiter = createRateLimiter(10, { ...clock, sleep: async () => {} })
  for (let asked = 0; asked < 30; asked++) void rateLimiter.wait(2_000, undefined)
  const retries = Array.from({ length: 3 }, () => {
    try {
      rateLimiter.wait(2_000, undefined)
    } catch (error) {
      return (error as OverloadError).retryInMs
    }
    return 'let in'
  })
  expect(retries).toEqual([2_200, 2_300, 2_400])
  expect(() => rateLimiter.wait(2_000, undefined)).toThrow(OverloadError)
  clock.advance(100)
  expect(rateLimiter.wait(2_000, undefined)).toBeInstanceOf(Promise)
})

test('without a limit nothing waits', () => {
  expect(createRateLimiter(Number.POSITIVE_INFINITY, givenClock()).wait(HOUR_MS, undefined)).toBeUndefined()
})

test('who gives up leaves no gap behind', async () => {
  const sleeps: number[] = []
  const rateLimiter = createRateLimiter(1, { ...givenClock(), sleep: async (ms) => void sleeps.push(ms) })
  rateLimiter.wait(HOUR_MS, undefined)
  for (let gone = 0; gone < 3; gone++)
    await expect(rateLimiter.wait(HOUR_MS, AbortSignal.abort(new Error('enough')))).rejects.toThrow()
  await rateLimiter.wait(HOUR_MS, undefined)
  expect(sleeps).toEqual([1000, 1000, 1000, 1000])
})

test('who gives up does not wait', async () => {
  const rateLimiter = createRateLimiter(1, givenClock())
  rateLimiter.wait(HOUR_MS, undefined)
  await expect(rateLimiter.wait(HOUR_MS, AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough')
})
