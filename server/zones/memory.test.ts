import { expect, test } from 'vitest'
import { firstServer, healthyAnswer, healthyFacts, NOW, SOA, secondServer } from '../testing/zone-facts.ts'
import { HOUR_MS } from '../times.ts'
import { NO_MEMORY, nextMemory } from './memory.ts'
import { isOlderSerial } from './serial.ts'

type Serials = [first: number, second: number]
/** The memory after looks that are an hour apart. */
const after = (...looks: Serials[]) =>
  looks.reduce((memory, [first, second], index) => {
    const answer = (serial: number) => ({ response: healthyAnswer({ soa: { ...SOA, serial } }) })
    const servers = [firstServer(answer(first)), secondServer(answer(second))]
    return nextMemory(memory, healthyFacts({ servers, at: NOW + index * HOUR_MS }))
  }, NO_MEMORY).servers['ns2.example.net']

test.each<[string, Serials[], number | null]>([
  [
    'in sync',
    [
      [1, 1],
      [2, 2],
    ],
    null,
  ],
  [
    'behind since the look that saw it first',
    [
      [1, 1],
      [2, 1],
      [3, 1],
    ],
    NOW + HOUR_MS,
  ],
  [
    'late, but transferring, is behind since its last transfer',
    [
      [2, 1],
      [3, 2],
    ],
    NOW + HOUR_MS,
  ],
  [
    'in sync again',
    [
      [2, 1],
      [2, 2],
    ],
    null,
  ],
  [
    'behind across the end of the serials',
    [
      [0xffff_ffff, 0xffff_ffff],
      [0, 0xffff_ffff],
    ],
    NOW + HOUR_MS,
  ],
])('a secondary is %s', (_, looks, behindSince) => {
  expect(after(...looks)).toMatchObject({ behindSince })
})

test('a serial that went back is remembered until the server has it again, or all servers agree', () => {
  expect(after([9, 9], [9, 5])).toMatchObject({ serial: 5, highest: 9 })
  expect(after([9, 9], [9, 5], [9, 6])).toMatchObject({ highest: 9 })
  expect(after([9, 9], [9, 5], [9, 9])).toMatchObject({ highest: 9, behindSince: null })
  expect(after([9, 9], [5, 5])).toMatchObject({ serial: 5, highest: 5 })
})

test('a server that did not answer keeps its memory, and one that left has none', () => {
  const before = nextMemory(NO_MEMORY, healthyFacts())
  const silent = healthyFacts({ servers: [firstServer(), secondServer({ response: { kind: 'silent' } })] })
  expect(nextMemory(before, silent)).toEqual(before)
  expect(Object.keys(nextMemory(before, healthyFacts({ servers: [firstServer()] })).servers)).toEqual([
    'ns1.example.com',
  ])
})

test('serials are compared by RFC 1982', () => {
  expect(isOlderSerial(1, 2)).toBe(true)
  expect(isOlderSerial(2, 1)).toBe(false)
  expect(isOlderSerial(1, 1)).toBe(false)
  expect(isOlderSerial(0xffff_fff0, 5)).toBe(true)
  expect(isOlderSerial(0, 0x8000_0000)).toBe(false)
})
