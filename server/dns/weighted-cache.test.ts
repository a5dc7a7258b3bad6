import { expect, test } from 'vitest'
import { WeightedCache } from './weighted-cache.ts'

test('the least recently used entries go when there are too many, or when they are too large together', () => {
  const cache = new WeightedCache<string>({ entries: 3, weight: 10 }, ({ length }) => length)
  for (const key of ['a', 'b', 'c']) cache.set(key, key)
  cache.get('a')
  cache.set('d', 'd')
  expect(['a', 'b', 'c', 'd'].map((key) => cache.get(key))).toEqual(['a', undefined, 'c', 'd'])
  cache.set('e', 'e'.repeat(9))
  expect(['a', 'c', 'd', 'e'].map((key) => cache.get(key)?.length)).toEqual([undefined, undefined, 1, 9])
  cache.set('e', 'e')
  cache.set('f', 'f'.repeat(8))
  expect(['d', 'e', 'f'].map((key) => cache.get(key)?.length)).toEqual([1, 1, 8])
  cache.set('huge', 'h'.repeat(11))
  expect(['d', 'e', 'f', 'huge'].map((key) => cache.get(key))).toEqual(Array(4).fill(undefined))
})
