import { expect, test } from 'vitest'
import { afterRun, NOTHING, pressed, pressedAll } from './list-selection.ts'

const rows = ['a', 'b', 'c', 'd', 'e'].map((id) => ({ id }))
const press = (...ids: [id: string, withRange?: boolean][]) =>
  [...ids.reduce((selection, [id, withRange]) => pressed(selection, rows, id, withRange ?? false), NOTHING).ids].sort()

test('a press ticks a row and a second one unticks it', () => {
  expect(press(['b'])).toEqual(['b'])
  expect(press(['b'], ['d'], ['b'])).toEqual(['d'])
})

test('a press with Shift ticks all between, in both directions', () => {
  expect(press(['b'], ['d', true])).toEqual(['b', 'c', 'd'])
  expect(press(['d'], ['a', true])).toEqual(['a', 'b', 'c', 'd'])
})

test('a range unticks where the row pressed was ticked', () => {
  expect(press(['a'], ['e', true], ['c'], ['d', true])).toEqual(['a', 'b', 'e'])
})

test('a range without a beginning is one row', () => {
  expect(press(['c', true])).toEqual(['c'])
})

test('all, and then none', () => {
  const all = pressedAll(NOTHING, rows)
  expect(all.ids.size).toBe(5)
  expect(pressedAll(all, rows).ids.size).toBe(0)
  expect(pressedAll(NOTHING, []).ids.size).toBe(0)
})

test('a tick for all counts as such until a row is pressed', () => {
  const all = pressedAll(NOTHING, rows)
  expect(all.isAll).toBe(true)
  expect(pressed(all, rows, 'b', false).isAll).toBeUndefined()
  expect(pressedAll(all, rows).isAll).toBeUndefined()
})

test('after a run the failed ones are ticked, and what was deleted is not', () => {
  const three = { ids: new Set(['a', 'b', 'c']), anchor: 'c' }
  expect(afterRun(three, { gone: [], failed: [] })).toBe(three)
  expect([...afterRun(three, { gone: [], failed: ['b'] }).ids]).toEqual(['b'])
  expect([...afterRun(three, { gone: ['b', 'z'], failed: [] }).ids]).toEqual(['a', 'c'])
  expect([...afterRun(three, { gone: ['a', 'b', 'c'], failed: ['c'] }).ids]).toEqual(['c'])
})
