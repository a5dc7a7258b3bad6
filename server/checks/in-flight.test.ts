import { expect, test } from 'vitest'
import { InFlight } from './worker.ts'

function begin(inProgress: InFlight, count: number, now: number): () => void {
  const checks = Array.from({ length: count }, (_, slot) => ({ slot }))
  for (const check of checks) inProgress.start(check, now)
  return () => {
    for (const check of checks) inProgress.finish(check)
  }
}

test('those that go briskly are bounded, and one that ends makes capacity', () => {
  const inProgress = new InFlight()
  const end = begin(inProgress, 2_000, 0)
  expect(inProgress.capacity(0)).toBe(0)
  end()
  expect(inProgress.capacity(0)).toBe(2_000)
})

test('those that are slow do not take the capacity of the others, within a bound', () => {
  const inProgress = new InFlight()
  const ends = [0, 1, 2, 3].map((second) => {
    expect(inProgress.capacity(second * 1_000)).toBe(2_000)
    return begin(inProgress, 2_000, second * 1_000)
  })
  begin(inProgress, 1_500, 4_000)
  expect(inProgress.capacity(4_000)).toBe(500)
  begin(inProgress, 500, 4_000)
  expect(inProgress.capacity(60_000)).toBe(0)
  ends[0]!()
  expect(inProgress.capacity(60_000)).toBe(2_000)
})

test('nothing starts until enough capacity is free', () => {
  const inProgress = new InFlight()
  begin(inProgress, 1_700, 0)
  const end = begin(inProgress, 100, 0)
  expect(inProgress.capacity(0)).toBe(0)
  end()
  expect(inProgress.capacity(0)).toBe(300)
})

test('all are waited for', async () => {
  const inProgress = new InFlight()
  const [slow, brisk] = [begin(inProgress, 1, 0), begin(inProgress, 1, 5_000)]
  inProgress.capacity(5_000)
  let hasEnded = false
  const ended = inProgress.idle().then(() => {
    hasEnded = true
  })
  brisk()
  await new Promise(setImmediate)
  expect(hasEnded).toBe(false)
  slow()
  await ended
})
