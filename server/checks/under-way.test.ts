import { expect, test } from 'vitest'
import { UnderWay } from './under-way.ts'

function begin(underWay: UnderWay, count: number, now: number): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  for (let begun = 0; begun < count; begun++) underWay.add(promise, now)
  return async () => {
    resolve()
    await new Promise(setImmediate)
  }
}

test('those that go briskly are bounded, and one that ends makes room', async () => {
  const underWay = new UnderWay()
  const end = begin(underWay, 2_000, 0)
  expect(underWay.room(0)).toBe(0)
  await end()
  expect(underWay.room(0)).toBe(2_000)
})

test('those that are slow do not take the room of the others, within a bound', async () => {
  const underWay = new UnderWay()
  const ends = [0, 1, 2, 3].map((second) => {
    expect(underWay.room(second * 1_000)).toBe(2_000)
    return begin(underWay, 2_000, second * 1_000)
  })
  begin(underWay, 1_500, 4_000)
  expect(underWay.room(4_000)).toBe(500)
  begin(underWay, 500, 4_000)
  expect(underWay.room(60_000)).toBe(0)
  await ends[0]!()
  expect(underWay.room(60_000)).toBe(2_000)
})

test('all are waited for', async () => {
  const underWay = new UnderWay()
  const [slow, brisk] = [begin(underWay, 1, 0), begin(underWay, 1, 5_000)]
  underWay.room(5_000)
  let hasEnded = false
  const ended = underWay.ended().then(() => {
    hasEnded = true
  })
  await brisk()
  expect(hasEnded).toBe(false)
  await slow()
  await ended
})
