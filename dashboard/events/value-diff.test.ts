import { expect, test } from 'vitest'
import { diffOf, partsOf } from './value-diff.ts'

test('what went is before what came, and what stayed comes last', () => {
  expect(diffOf(['a', 'b'], ['b', 'c'])).toEqual([
    { value: 'a', mark: 'removed' },
    { value: 'c', mark: 'added' },
    { value: 'b', mark: 'kept' },
  ])
})

test('a first outcome only adds, an emptied name only removes, and where nothing was learned there is no difference', () => {
  expect(diffOf(undefined, ['a'])).toEqual([{ value: 'a', mark: 'added' }])
  expect(diffOf(['a'], [])).toEqual([{ value: 'a', mark: 'removed' }])
  expect(diffOf(['a'], undefined)).toBeUndefined()
})

test('a long text that replaces another one shows where they differ', () => {
  const before = 'v=spf1 include:_spf.example.com ip4:192.0.2.1 -all'
  const after = 'v=spf1 include:_spf.example.com ip4:192.0.2.77 -all'
  expect(diffOf([before], [after])).toEqual([
    { value: before, mark: 'removed', parts: ['v=spf1 include:_spf.example.com ip4:192.0.2.', '1', ' -all'] },
    { value: after, mark: 'added', parts: ['v=spf1 include:_spf.example.com ip4:192.0.2.', '77', ' -all'] },
  ])
})

test('short texts and texts that have little in common are shown whole', () => {
  expect(partsOf('192.0.2.1', '192.0.2.2')).toBeUndefined()
  expect(partsOf('google-site-verification=one', 'v=spf1 include:_spf.example.com -all')).toBeUndefined()
})

test('a repeated end is not counted twice', () => {
  expect(partsOf('a'.repeat(30), 'a'.repeat(32))).toEqual([
    ['a'.repeat(30), '', ''],
    ['a'.repeat(30), 'aa', ''],
  ])
})
