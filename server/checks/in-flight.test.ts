import { expect, test } from 'vitest'
import { InFlight } from './worker.ts'

function begin(underWay: InFlight, count: number, now: number): () => void {
  const checks = Array.from({ length: count }, (_, slot) => ({ slot }))
  for (const check of checks) underWay.begin(check, now)
  return () => {
    for (const check of checks) underWay.end(check)
  }
}

test('those that go briskly are bounded, and one that ends makes capacity', () => {
  const underWay = new InFlight()
  const end = begin(underWay, 2_000, 0)
  expect(underWay.capacity(0)).toBe(0)
  end()
  expect(underWay.capacity(0)).toBe(2_000)
})

test('those that are slow do not take the capacity of the others, within a bound', () => {
  const underWay = new InFlight()
  const ends = [0, 1, 2, 3].map((second) => {
    expect(underWay.capacity(second * 1_000)).toBe(2_000)
    return begin(underWay, 2_000, second * 1_000)
  })
  begin(underWay, 1_500, 4_000)
  expect(underWay.capacity(4_000)).toBe(500)
  begin(underWay, 500, 4_000)
  expect(underWay.capacity(60_000)).toBe(0)
  ends[0]!()
  expect(underWay.capacity(60_000)).toBe(2_000)
})

test('nothing starts until enough capacity is free', () => {
  const underWay = new InFlight()
  begin(underWay, 1_700, 0)
  const end = begin(underWay, 100, 0)
  expect(underWay.capacity(0)).toBe(0)
  end()
  expect(underWay.capacity(0)).toBe(300)
})

test('all are waited for', async () => {
  const underWay = new InFlight()
  const [slow, brisk] = [begin(underWay, 1, 0), begin(underWay, 1, 5_000)]
  underWay.capacity(5_000)
  let hasEnded = false
  const ended = underWay.ended().then(() => {
    hasEnded = true
  })
  brisk()
  await new Promise(setImmediate)
  expect(hasEnded).toBe(false)
  slow()
  await ended
})
