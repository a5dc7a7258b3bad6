import { expect, test } from 'vitest'
import type { Clock } from '../clock.ts'
import { shareRuns } from './overview.ts'

/** Work that takes 100 ms of a clock which only sleeping moves. */
function givenWork() {
  let elapsed = 0
  const clock: Clock = {
    now: () => elapsed,
    elapsed: () => elapsed,
    sleep: async (ms) => {
      await new Promise(setImmediate)
      elapsed += ms
    },
  }
  const began: number[] = []
  const work = async () => {
    began.push(elapsed)
    await clock.sleep(100)
    return began.length
  }
  return { began, work, take: shareRuns<number>(clock), elapsed: () => elapsed }
}

test('many who come during the work share one further turn, which begins after they came', async () => {
  const { began, work, take } = givenWork()
  const results = await Promise.all(Array.from({ length: 50 }, () => take('one', work)))
  expect(results).toEqual([1, ...Array(49).fill(2)])
  expect(began).toEqual([0, 500])
})

test('each name has turns of its own, and after its rest nothing is kept waiting', async () => {
  const { began, work, take, elapsed } = givenWork()
  await Promise.all([take('one', work), take('other', work)])
  while (elapsed() < 1_000) await new Promise(setImmediate).then(() => take('third', work))
  const before = began.length
  const at = elapsed()
  await take('one', work)
  expect(began[before]).toBe(at)
})

test('a failed run fails for all callers that share it, and the next one still starts', async () => {
  const { work, take } = givenWork()
  const fails = async () => {
    throw new Error('broken')
  }
  const [first, second] = await Promise.allSettled([take('one', fails), take('one', work)])
  expect([first.status, second.status]).toEqual(['rejected', 'fulfilled'])
})
