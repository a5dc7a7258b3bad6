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

const stopped: Clock['sleep'] = () => new Promise(() => {})

/** `sleep`: instead of passing the time at once. */
function givenLimiter(perSecond: number, sleep?: Clock['sleep']) {
  const clock = givenClock()
  const limiter = createRateLimiter(perSecond, sleep ? { ...clock, sleep } : clock)
  return {
    clock,
    limiter,
    wait: async (group = '', signal?: AbortSignal) => await limiter.wait(HOUR_MS, signal, group),
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
  const rateLimiter = createRateLimiter(10, { ...clock, sleep: stopped })
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
  const { clock, wait } = givenLimiter(1)
  await wait()
  const leaving = new AbortController()
  const gone = [1, 2, 3].map(() => expect(wait('', leaving.signal)).rejects.toThrow('enough'))
  const stayed = wait()
  leaving.abort(new Error('enough'))
  await Promise.all(gone)
  await stayed
  expect(clock.elapsed()).toBe(1_000)
})

test('those who wait take turns by group', async () => {
  const { wait } = givenLimiter(10)
  const sent: string[] = []
  const send = async (name: string, group: string) => {
    await wait(group)
    sent.push(name)
  }
  for (let burst = 0; burst < 10; burst++) await send('burst', 'a')
  const all = ['a1', 'a2', 'a3', 'b1', 'a4', 'b2', 'c1'].map((name) => send(name, name[0]!))
  await Promise.all(all)
  expect(sent.slice(10)).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4'])
})

test('a group that has filled the queue refuses its own, and no other', () => {
  const { clock, limiter } = givenLimiter(10, stopped)
  const refused = (group: string) => {
    try {
      void limiter.wait(2_000, undefined, group)
      return undefined
    } catch (error) {
      return (error as OverloadError).retryInMs
    }
  }
  for (let asked = 0; asked < 30; asked++) refused('a')
  for (let more = 1; more <= 100; more++) expect(refused('a')).toBe(2_100 + 100 * more)
  for (let asked = 0; asked < 10; asked++) expect(refused('b')).toBeUndefined()
  expect(refused('b')).toBe(2_300) // the others come before, in turns
  expect(clock.elapsed()).toBe(0)
})

test('who gives up does not wait', async () => {
  const rateLimiter = createRateLimiter(1, givenClock())
  rateLimiter.wait(HOUR_MS, undefined)
  await expect(rateLimiter.wait(HOUR_MS, AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough')
})
