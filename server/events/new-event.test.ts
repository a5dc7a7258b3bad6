import { expect, test } from 'vitest'
import { boundedValues, MAX_VALUE_BYTES, newEvent } from './new-event.ts'

const sizeOf = (...lists: (readonly string[] | null)[]) =>
  lists.reduce((sum, list) => sum + (list === null ? 0 : Buffer.byteLength(JSON.stringify(list))), 0)

test('values within the bound stay as they are', () => {
  const values = { previous: ['a'.repeat(30_000)], current: ['b'.repeat(30_000), '192.0.2.1'] }
  expect(boundedValues(values, 100)).toEqual({ ...values, isTruncated: false })
  expect(boundedValues({ previous: null, current: null }, 100)).toEqual({
    previous: null,
    current: null,
    isTruncated: false,
  })
})

test('beyond it the longest are cut, marked by an ellipsis, and short ones stay whole', () => {
  const values = { previous: ['short', 'p'.repeat(60_000)], current: ['c'.repeat(60_000), 'v=spf1 -all'] }
  const { previous, current, isTruncated } = boundedValues(values, 1_000)

  expect(isTruncated).toBe(true)
  expect([previous![0], current![1]]).toEqual(['short', 'v=spf1 -all'])
  expect(previous![1]).toMatch(/^p{30000,}…$/)
  expect(current![0]).toMatch(/^c{30000,}…$/)
  expect(sizeOf(previous, current)).toBeLessThanOrEqual(MAX_VALUE_BYTES - 1_000)
  expect(sizeOf(previous, current)).toBeGreaterThan(MAX_VALUE_BYTES - 1_100)
})

test.each([
  ['escaped in JSON', '\u0001'.repeat(20_000)],
  ['of several octets', 'ü'.repeat(50_000)],
  ['beyond the basic plane', '😀'.repeat(30_000)],
])('characters %s are counted as they are written, and none is cut in two', (_what, value) => {
  const { current } = boundedValues({ previous: [value], current: [value] }, 0)
  expect(sizeOf(current, current)).toBeLessThanOrEqual(MAX_VALUE_BYTES)
  expect(current![0]!.isWellFormed()).toBe(true)
  expect(value.startsWith(current![0]!.slice(0, -1))).toBe(true)
})

test('thousands of addresses are not cut to pieces: what does not fit is left out at the end', () => {
  const addresses = Array.from({ length: 4_000 }, (_, index) => `192.0.${Math.floor(index / 250)}.${index % 250}`)
  const { previous, current } = boundedValues({ previous: addresses, current: addresses }, 20)

  expect(current!.every((value, index) => value === addresses[index])).toBe(true)
  expect(previous!.every((value, index) => value === addresses[index])).toBe(true)
  expect(sizeOf(previous, current)).toBeLessThanOrEqual(MAX_VALUE_BYTES)
})

test.each([
  ['values that fit', ['192.0.2.1'], 0],
  ['values that were cut', ['c'.repeat(MAX_VALUE_BYTES)], 1],
])('the event of %s says whether they are complete', (_, current, truncated) => {
  const monitor = { id: 'mon_1', expected_values: '["192.0.2.1"]' } as Parameters<typeof newEvent>[0]
  const change = {
    at: 1,
    oldState: 'VALID',
    newState: 'MISMATCH',
    previous: null,
    incidenceCount: 1,
    diagnosis: null,
  } as const

  expect(newEvent(monitor, { ...change, current }).truncated).toBe(truncated)
})
