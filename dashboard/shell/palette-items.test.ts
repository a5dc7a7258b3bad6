import { expect, test } from 'vitest'
import { matchesCommand, parseRecent, withRecent } from './palette-items.ts'

test('the search matches the beginnings of words, in any order and case', () => {
  const command = { label: 'New monitor', keywords: 'add create' }
  for (const typed of ['new', 'MON', 'mon new', 'add', '']) expect(matchesCommand(command, typed), typed).toBe(true)
  for (const typed of ['onitor', 'new webhook']) expect(matchesCommand(command, typed), typed).toBe(false)
})

test('the search ignores accents', () => {
  expect(matchesCommand({ label: 'Switch to Zürich' }, 'zurich')).toBe(true)
})

test('a command that is used again moves to the front, and six are stored', () => {
  const named = (id: string) => ({ id, label: id })
  const six = ['a', 'b', 'c', 'd', 'e', 'f'].map(named)
  expect(withRecent(six, named('c')).map(({ id }) => id)).toEqual(['c', 'a', 'b', 'd', 'e', 'f'])
  expect(withRecent(six, named('g')).map(({ id }) => id)).toEqual(['g', 'a', 'b', 'c', 'd', 'e'])
})

test('malformed stored data is ignored', () => {
  expect(parseRecent(null)).toEqual([])
  expect(parseRecent('{"a":1}')).toEqual([])
  expect(parseRecent('broken')).toEqual([])
  expect(parseRecent('[{"id":"a","label":"A"},{"id":1},null]')).toEqual([{ id: 'a', label: 'A' }])
})
