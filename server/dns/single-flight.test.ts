import { expect, test } from 'vitest'
import { createSingleFlight } from './single-flight.ts'

function givenWork() {
  const begun: PromiseWithResolvers<number>[] = []
  const begin = () => {
    begun.push(Promise.withResolvers<number>())
    return begun.at(-1)!.promise
  }
  return { begun, begin, singleFlight: createSingleFlight<number>() }
}

test('the same is begun once while it is in progress', async () => {
  const { singleFlight, begin, begun } = givenWork()
  const asking = [1, 2, 3].map(() => singleFlight('a', undefined, begin))
  const other = singleFlight('b', undefined, begin)
  expect(begun).toHaveLength(2)
  begun[0]!.resolve(7)
  begun[1]!.resolve(8)
  expect(await Promise.all([...asking, other])).toEqual([7, 7, 7, 8])
})

test('a caller that has the result and asks again starts a new run', async () => {
  const { singleFlight, begin, begun } = givenWork()
  const again = [1, 2].map(() => singleFlight('a', undefined, begin).then(() => singleFlight('a', undefined, begin)))
  begun[0]!.resolve(1)
  await expect.poll(() => begun.length).toBe(2)
  begun[1]!.resolve(2)
  expect(await Promise.all(again)).toEqual([2, 2])
})

test("a failure is everybody's, and the next one starts over", async () => {
  const { singleFlight, begin, begun } = givenWork()
  const asking = [1, 2].map(() => expect(singleFlight('a', undefined, begin)).rejects.toThrow('closed'))
  begun[0]!.reject(new Error('closed'))
  await Promise.all(asking)
  void singleFlight('a', undefined, begin)
  expect(begun).toHaveLength(2)
})

test('who may give up at another time goes alone', () => {
  const { singleFlight, begin, begun } = givenWork()
  void singleFlight('a', undefined, begin)
  void singleFlight('a', new AbortController().signal, begin)
  expect(begun).toHaveLength(2)
})
