import { expect, test } from 'vitest'
import type { Outcome } from '../dns/outcome.ts'
import { MOST_MEMBERS, withRecorded } from './pool.ts'

const part = (...values: string[]): Outcome => ({
  kind: 'answer',
  rrset: { name: 'www.example.com', type: 'A', ttl: 60, values },
  chain: [],
  pool: 'part',
})
const valuesOf = (outcome: Outcome) => (outcome.kind === 'answer' ? outcome.rrset.values : [])
const members = (from: number, count: number) => Array.from({ length: count }, (_, at) => `m${from + at}`)

test('a part of what is recorded is what is recorded', () => {
  expect(valuesOf(withRecorded(part('b'), ['a', 'b', 'c']))).toEqual(['a', 'b', 'c'])
})

test('a new member joins those that are recorded', () => {
  expect(valuesOf(withRecorded(part('b', 'd'), ['a', 'b']))).toEqual(['a', 'b', 'd'])
})

test('what has nothing in common with the record replaces it', () => {
  expect(valuesOf(withRecorded(part('x', 'y'), ['a', 'b']))).toEqual(['x', 'y'])
})

test('of a pool that is too large the first members that were recorded stay', () => {
  const recorded = members(0, MOST_MEMBERS)
  expect(valuesOf(withRecorded(part(...members(500, 40)), recorded))).toEqual(recorded)
  expect(valuesOf(withRecorded(part(...members(10, 60)), recorded))).toEqual(recorded)
})

test('without a record, and for a set that was seen whole, the answer stands as it is', () => {
  expect(valuesOf(withRecorded(part('a'), null))).toEqual(['a'])
  const whole: Outcome = { kind: 'answer', rrset: { name: 'a', type: 'A', ttl: 1, values: ['a'] }, chain: [] }
  expect(withRecorded(whole, ['a', 'b'])).toBe(whole)
})
