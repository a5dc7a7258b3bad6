import { expect, test } from 'vitest'
import { diffOf, partsOf } from './value-diff.ts'

test('removed values come first, then added ones, then unchanged ones', () => {
  expect(diffOf(['a', 'b'], ['b', 'c'])).toEqual([
    { value: 'a', mark: 'removed' },
    { value: 'c', mark: 'added' },
    { value: 'b', mark: 'kept' },
  ])
})

test('a first result only adds values, an empty name only removes values, and a timeout has no difference', () => {
  expect(diffOf(undefined, ['a'])).toEqual([{ value: 'a', mark: 'added' }])
  expect(diffOf(['a'], [])).toEqual([{ value: 'a', mark: 'removed' }])
  expect(diffOf(['a'], undefined)).toBeUndefined()
})

test('the differing parts of two long texts are marked', () => {
  const before = 'v=spf1 include:_spf.example.com ip4:192.0.2.1 -all'
  const after = 'v=spf1 include:_spf.example.com ip4:192.0.2.77 -all'
  expect(diffOf([before], [after])).toEqual([
    { value: before, mark: 'removed', parts: ['v=spf1 include:_spf.example.com ip4:192.0.2.', '1', ' -all'] },
    { value: after, mark: 'added', parts: ['v=spf1 include:_spf.example.com ip4:192.0.2.', '77', ' -all'] },
  ])
})

test('short texts and very different texts are not split', () => {
  expect(partsOf('192.0.2.1', '192.0.2.2')).toBeUndefined()
  expect(partsOf('google-site-verification=one', 'v=spf1 include:_spf.example.com -all')).toBeUndefined()
})

test('a repeated end is counted once', () => {
  expect(partsOf('a'.repeat(30), 'a'.repeat(32))).toEqual([
    ['a'.repeat(30), '', ''],
    ['a'.repeat(30), 'aa', ''],
  ])
})
