import { expect, test } from 'vitest'
import { afterRun } from './list-selection.ts'

test('after a run, failed monitors are selected and deleted ones are not', () => {
  const three = { ids: { a: true, b: true, c: true } } as const
  expect(afterRun(three, { deleted: [], failed: [] })).toBe(three)
  expect(afterRun(three, { deleted: [], failed: ['b'] })).toEqual({ ids: { b: true } })
  expect(afterRun(three, { deleted: ['b', 'z'], failed: [] })).toEqual({ ids: { a: true, c: true } })
  expect(afterRun(three, { deleted: ['a', 'b', 'c'], failed: ['c'] })).toEqual({ ids: { c: true } })
})
