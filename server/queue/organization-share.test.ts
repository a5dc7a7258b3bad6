import { expect, test } from 'vitest'
import { claimable, organizationsWithShare } from './organization-share.ts'

const of = (counts: Record<string, number>) => Object.entries(counts).flatMap(([id, count]) => Array(count).fill(id))

test('each organization may take half of what the others leave', () => {
  expect(organizationsWithShare([], 16)).toEqual([])
  expect(organizationsWithShare(of({ a: 7 }), 16)).toEqual([])
  expect(organizationsWithShare(of({ a: 8 }), 16)).toEqual(['a'])
  expect(organizationsWithShare(of({ a: 8, b: 3 }), 16)).toEqual(['a'])
  expect(organizationsWithShare(of({ a: 8, b: 4 }), 16)).toEqual(['a', 'b'])
})

test('organizations without end leave a place, and those with most do not get the next one', () => {
  const taken: Record<string, number> = {}
  const total = () => Object.values(taken).reduce((sum, count) => sum + count, 0)
  for (const id of ['a', 'b', 'c', 'd'])
    while (!organizationsWithShare(of(taken), 16).includes(id)) {
      taken[id] = (taken[id] ?? 0) + Math.min(1, claimable(16 - total()))
    }
  expect(taken).toEqual({ a: 8, b: 4, c: 2, d: 1 })
  expect(claimable(16 - total())).toBe(1)
  expect(organizationsWithShare(of({ ...taken, a: 7 }), 16)).toContain('a')
})
