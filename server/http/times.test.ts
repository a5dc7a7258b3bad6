import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isoOf } from './times.ts'

test('every instant reads as Date writes it', () => {
  const instants = fc.integer({ min: -62_198_755_200_000, max: 253_402_300_799_999 })
  fc.assert(
    fc.property(fc.array(instants, { minLength: 1 }), (all) => {
      for (const instant of all) expect(isoOf(instant)).toBe(new Date(instant).toISOString())
    }),
  )
  for (const edge of [0, -1, 86_399_999, 86_400_000]) expect(isoOf(edge)).toBe(new Date(edge).toISOString())
})
