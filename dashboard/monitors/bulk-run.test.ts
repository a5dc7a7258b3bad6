import { expect, test } from 'vitest'
import { ApiProblem } from '../api.ts'
import { type Progress, runEach } from './bulk-run.ts'

const items = Array.from({ length: 20 }, (_, at) => at)

/** Runs `act` for 20 items; the waits are noted and take no time. */
function running(act: (item: number, stop: () => void) => Promise<unknown>) {
  const waits: number[] = []
  const steps: Progress<number>[] = []
  const stop = new AbortController()
  const ended = runEach(items, {
    act: (item) => act(item, () => stop.abort()),
    onProgress: (progress) => steps.push(progress),
    signal: stop.signal,
    wait: async (ms) => void waits.push(ms),
  })
  return { ended, waits, steps }
}

test('runs all items, at most four at once, and reports each step', async () => {
  let under = 0
  let most = 0
  const { ended, steps } = running(async () => {
    under += 1
    most = Math.max(most, under)
    await Promise.resolve()
    under -= 1
  })
  expect(await ended).toEqual({ done: 20, failures: [] })
  expect(most).toBe(4)
  expect(steps.map(({ done }) => done)).toEqual(items.map((at) => at + 1))
})

test('collects failures and continues with the other items', async () => {
  const problem = new ApiProblem(403, { error: 'Not for you.' })
  const { ended } = running(async (item) => {
    if (item === 7) throw problem
  })
  expect(await ended).toEqual({ done: 19, failures: [{ item: 7, problem }] })
})

test('waits as long as the rate limit says, and retries', async () => {
  let refusals = 6
  const { ended, waits } = running(async (item) => {
    if (item === 3 && refusals-- > 0) throw new ApiProblem(429, {}, 9)
  })
  expect((await ended).done).toBe(20)
  expect(waits).toEqual(Array(6).fill(9_000))
})

test('leaves a third of the rate limit to other tabs, and reports when it resumes', async () => {
  let [now, remaining] = [0, 6]
  const steps: Progress<number>[] = []
  await runEach(items.slice(0, 6), {
    act: async () => {
      remaining -= 1
    },
    onProgress: (progress) => steps.push(progress),
    signal: new AbortController().signal,
    wait: async (ms) => {
      now += ms
      remaining += 2
    },
    window: () => ({ limit: 9, remaining, resetAt: now + 5_000 }),
    now: () => now,
  })
  expect(steps.at(-1)).toEqual({ done: 6, failures: [] })
  expect(steps.filter(({ resumesAt }) => resumesAt !== undefined).length).toBeGreaterThan(0)
  expect(remaining).toBeGreaterThanOrEqual(3)
})

test('an unreachable server is a failure after four attempts', async () => {
  const { ended, waits } = running(async (item) => {
    if (item === 3) throw new ApiProblem(0, {})
  })
  expect((await ended).failures.map(({ item }) => item)).toEqual([3])
  expect(waits).toEqual([1_000, 2_000, 4_000])
})

test('an aborted run starts no further item', async () => {
  const nextIndex: number[] = []
  const { ended } = running(async (item, stop) => {
    nextIndex.push(item)
    await Promise.resolve()
    if (item === 5) stop()
  })
  expect((await ended).failures).toEqual([])
  expect(nextIndex.length).toBeLessThan(12)
})
