import { expect, test } from 'vitest'
import { WriteBatches } from './write-batches.ts'

const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })

test('one item that cannot be written holds back none of the others', async () => {
  const { batches, written, givenUp } = givenBatches((items) => {
    if (items.includes(2)) throw new Error('value too long')
  })
  await Promise.all([1, 2, 3].map((item) => batches.add(item)))
  expect(written).toEqual([1, 3])
  expect(givenUp).toEqual([1])
})

test('what is to be written waits while the database is away', async () => {
  let away = 5
  const { batches, written, givenUp } = givenBatches(() => {
    if (away-- > 0) throw refused
  })
  await Promise.all([1, 2].map((item) => batches.add(item)))
  expect(written).toEqual([1, 2])
  expect(givenUp).toEqual([])
})

test('a database that stays away is given up before the leases run out, for all items at once', async () => {
  const { batches, written, givenUp, sleptMs } = givenBatches(() => {
    throw refused
  })
  await Promise.all([1, 2, 3].map((item) => batches.add(item)))
  expect(written).toEqual([])
  expect(givenUp).toEqual([3])
  expect(sleptMs()).toBeGreaterThan(20_000)
  expect(sleptMs()).toBeLessThan(45_000)
})

test('a batch that is full already waits for no more', async () => {
  const { batches, written, sleptMs } = givenBatches(() => {})
  const first = Array.from({ length: 1_501 }, (_, item) => batches.add(item))
  await Promise.all(first)
  expect(written).toHaveLength(1_501)
  expect(sleptMs()).toBe(2) // before the first, which begins with one item, and before the last
})

test('no more are written together than the caller allows', async () => {
  const sizes: number[] = []
  const { batches } = givenBatches((items) => sizes.push(items.length), { maxBatchSize: 1_000 })
  await Promise.all(Array.from({ length: 2_500 }, (_, item) => batches.add(item)))
  expect(sizes).toEqual([1_000, 1_000, 500])
})

function givenBatches(write: (items: number[]) => void, options: { maxBatchSize?: number } = {}) {
  const written: number[] = []
  const givenUp: number[] = []
  let slept = 0
  const clock = {
    now: () => slept,
    elapsed: () => slept,
    async sleep(ms: number) {
      slept += ms
    },
  }
  const batches = new WriteBatches<number>(
    async (items) => {
      write(items)
      written.push(...items)
    },
    { clock, gatherMs: 1, onGivenUp: (_error, items) => givenUp.push(items), ...options },
  )
  return { batches, written, givenUp, sleptMs: () => slept }
}
