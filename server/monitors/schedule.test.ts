import fc from 'fast-check'
import { expect, test } from 'vitest'
import { newId } from '../ids.ts'
import { nextDueAt, SLOTS, slotOf } from './slots.ts'

const frequency = fc.integer({ min: 5, max: 120 })
const slot = fc.integer({ min: 0, max: SLOTS - 1 })
const instant = fc.integer({ min: 0, max: 4e12 })

test('the next check lies after now and within one interval', () => {
  fc.assert(
    fc.property(instant, slot, frequency, (now, slot, frequency) => {
      const next = nextDueAt(now, { slot, frequency })
      expect(next).toBeGreaterThan(now)
      expect(next).toBeLessThanOrEqual(now + frequency * 60_000)
    }),
  )
})

test('a late check does not delay the checks after it', () => {
  fc.assert(
    fc.property(instant, slot, frequency, fc.nat(200_000), (now, slot, frequency, late) => {
      const due = nextDueAt(now, { slot, frequency })
      expect(nextDueAt(due + late, { slot, frequency })).toBe(due + frequency * 60_000)
    }),
  )
})

test('1,000 monitors created in one millisecond are spread over the whole interval', () => {
  const ids = Array.from({ length: 1_000 }, () => newId('mon', 1_700_000_000_000))
  const tenths = new Map<number, number>()
  for (const id of ids) {
    const tenth = Math.floor((slotOf(id) / SLOTS) * 10)
    tenths.set(tenth, (tenths.get(tenth) ?? 0) + 1)
  }
  expect([...tenths.keys()].sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  expect(Math.max(...tenths.values())).toBeLessThan(180)
})

test('up to four monitors created in a row have adjacent slots', () => {
  const slots = Array.from({ length: 1_000 }, () => slotOf(newId('mon', 1_700_000_000_000)))
  expect(new Set(slots).size).toBe(1_000)
  const neighbours = [...Map.groupBy(slots, (slot) => Math.floor(slot / 128)).values()].map(({ length }) => length)
  expect(Math.max(...neighbours)).toBe(4)
  expect(neighbours.length).toBeLessThan(400)
})
