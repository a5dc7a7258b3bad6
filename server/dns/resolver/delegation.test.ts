import { expect, test } from 'vitest'
import type { Clock } from '../../clock.ts'
import { createDelegationCache, type Delegation, rootDelegation } from './delegation.ts'

const root = rootDelegation([{ ip: '127.0.0.1', port: 53 }])
const delegation = (zone: string, expiresAt = 1_000): Delegation => ({ zone, nameServers: [], learnedAt: 0, expiresAt })

function givenCache(limit?: number) {
  let now = 0
  const clock: Clock = { now: () => now, elapsed: () => now, sleep: async () => {} }
  const advance = (ms: number) => {
    now += ms
  }
  return { cache: createDelegationCache(root, clock, limit), advance }
}

test('the deepest zone that holds the name is the closest, else the root', () => {
  const { cache } = givenCache()
  for (const zone of ['test', 'example.test', 'sub.example.test']) cache.add(delegation(zone))
  expect(cache.closest('www.example.test').zone).toBe('example.test')
  expect(cache.closest('sub.example.test').zone).toBe('sub.example.test')
  expect(cache.closest('myexample.test').zone).toBe('test')
  expect(cache.closest('example.com').zone).toBe('')
})

test('a delegation is gone when its TTL is over, and one without TTL is not kept', () => {
  const { cache, advance } = givenCache()
  cache.add(delegation('example.test'))
  cache.add(delegation('brief.test', 0))
  expect(cache.closest('brief.test').zone).toBe('')
  advance(1_000)
  expect(cache.closest('www.example.test').zone).toBe('')
})

test('what was learned before of the way to a name can be forgotten, all but its beginning', () => {
  const { cache } = givenCache()
  for (const zone of ['test', 'example.test', 'sub.example.test', 'other.test']) cache.add(delegation(zone))
  cache.deletePathTo('www.sub.example.test', 0)
  expect(cache.closest('www.sub.example.test').zone).toBe('sub.example.test')
  cache.deletePathTo('www.sub.example.test', 1)
  expect(cache.closest('www.sub.example.test').zone).toBe('test')
  expect(cache.closest('www.other.test').zone).toBe('other.test')
})

test('it holds no more than its limit, and lets go of what was not used for longest', () => {
  const { cache } = givenCache(3)
  for (const zone of ['a', 'b', 'c']) cache.add(delegation(zone))
  cache.closest('a')
  cache.add(delegation('d'))
  expect(['a', 'b', 'c', 'd'].map((zone) => cache.closest(zone).zone)).toEqual(['a', '', 'c', 'd'])
})
