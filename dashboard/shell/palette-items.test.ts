import { expect, test } from 'vitest'
import { isMeant, parseRecent, withRecent } from './palette-items.ts'

test('a command is found by the beginnings of its words, in any order and case', () => {
  const command = { label: 'New monitor', words: 'add create' }
  for (const typed of ['new', 'MON', 'mon new', 'add', '']) expect(isMeant(command, typed), typed).toBe(true)
  for (const typed of ['onitor', 'new webhook']) expect(isMeant(command, typed), typed).toBe(false)
})

test('accents need not be typed', () => {
  expect(isMeant({ label: 'Switch to Zürich' }, 'zurich')).toBe(true)
})

test('what is chosen again moves to the front, and only six are kept', () => {
  const named = (id: string) => ({ id, label: id })
  const six = ['a', 'b', 'c', 'd', 'e', 'f'].map(named)
  expect(withRecent(six, named('c')).map(({ id }) => id)).toEqual(['c', 'a', 'b', 'd', 'e', 'f'])
  expect(withRecent(six, named('g')).map(({ id }) => id)).toEqual(['g', 'a', 'b', 'c', 'd', 'e'])
})

test('what the browser kept and is not ours counts for nothing', () => {
  expect(parseRecent(null)).toEqual([])
  expect(parseRecent('{"a":1}')).toEqual([])
  expect(parseRecent('broken')).toEqual([])
  expect(parseRecent('[{"id":"a","label":"A"},{"id":1},null]')).toEqual([{ id: 'a', label: 'A' }])
})
