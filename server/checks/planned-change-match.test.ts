import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { textOf } from '#contract/reasons.ts'
import { RECORD_TYPES } from '#contract/record-types.ts'
import type { Outcome } from '../dns/outcome.ts'
import { recordTypeOf } from '../record-types/record-types.ts'
import { oldAndNewValues } from './planned-change-match.ts'
import { type Expectation, evaluate } from './verdict.ts'

const answer = (values: readonly string[], type = 'A'): Outcome => ({
  kind: 'answer',
  rrset: { name: 'www.example.com', type: type as never, ttl: 60, values: [...values].sort() },
  chain: [],
})

const during = (oldValues: readonly string[], newValues: readonly string[], more: Partial<Expectation> = {}) => ({
  ...{ recordType: recordTypeOf('A'), owner: 'www.example.com', isExactMatch: true },
  expectedValues: oldAndNewValues({ oldValues, newValues }),
  ...more,
  change: { id: 'pch_1', oldValues, newValues, isOver: false },
})
const stateOf = (expectation: Expectation, outcome: Outcome) => evaluate(expectation, outcome).state

const address = fc.integer({ min: 1, max: 7 }).map((last) => `192.0.2.${last}`)
const values = fc.uniqueArray(address, { minLength: 1, maxLength: 5 })

describe('while a planned change is in progress', () => {
  test('in exact mode the old values, the new ones and each mix of both are valid, and nothing else', () => {
    fc.assert(
      fc.property(values, values, values, (before, after, found) => {
        const [old, next, seen] = [new Set(before), new Set(after), new Set(found)]
        const isMix =
          seen.isSubsetOf(old.union(next)) &&
          old.intersection(next).isSubsetOf(seen) &&
          !seen.isDisjointFrom(old.symmetricDifference(next))
        const isOneSide = [old, next].some((side) => side.symmetricDifference(seen).size === 0)
        expect(stateOf(during(before, after), answer(found))).toBe(isMix || isOneSide ? 'VALID' : 'MISMATCH')
      }),
      { numRuns: 2_000 },
    )
  })

  test('in flexible mode other values may be there too, and one that stays must not be lost', () => {
    fc.assert(
      fc.property(values, values, values, (before, after, found) => {
        const [old, next, seen] = [new Set(before), new Set(after), new Set(found)]
        const isMix = old.intersection(next).isSubsetOf(seen) && !seen.isDisjointFrom(old.symmetricDifference(next))
        const isOneSide = [old, next].some((side) => side.isSubsetOf(seen))
        const flexible = during(before, after, { isExactMatch: false })
        expect(stateOf(flexible, answer(found))).toBe(isMix || isOneSide ? 'VALID' : 'MISMATCH')
      }),
      { numRuns: 2_000 },
    )
  })

  test('what is valid for the old or the new values alone stays valid, for every record type and in both modes', () => {
    const text = fc.constantFrom('a', '192.0.2.1', '10 mx.example.com', 'v=spf1 -all', '0 issue "ca.example"')
    const texts = fc.uniqueArray(text, { minLength: 1, maxLength: 3 })
    fc.assert(
      fc.property(fc.constantFrom(...RECORD_TYPES), texts, texts, texts, fc.boolean(), (type, ...given) => {
        const [before, after, found, isExactMatch] = given
        const outcome = answer(found, recordTypeOf(type).queryType)
        const alone = (expectedValues: string[]) => {
          return stateOf(
            { recordType: recordTypeOf(type), owner: 'www.example.com', isExactMatch, expectedValues },
            outcome,
          )
        }
        if (![alone(before), alone(after)].includes('VALID')) return
        expect(stateOf(during(before, after, { recordType: recordTypeOf(type), isExactMatch }), outcome)).toBe('VALID')
      }),
    )
  })

  test('a failure, and a name without records, are what they are without a change', () => {
    const outcomes: Outcome[] = [
      { kind: 'nxdomain', chain: [] },
      { kind: 'nodata', chain: [] },
      { kind: 'timeout' },
      { kind: 'failure', rcode: 'SERVFAIL', ede: [] },
    ]
    for (const outcome of outcomes) {
      const expectation = during(['192.0.2.1'], ['192.0.2.2'])
      expect(stateOf(expectation, outcome)).toBe(stateOf({ ...expectation, change: undefined }, outcome))
    }
  })

  test('the reason says so', () => {
    const expectation = during(['192.0.2.1'], ['192.0.2.2'])
    const reasonOf = (found: string[], isOver = false) =>
      textOf(evaluate({ ...expectation, change: { ...expectation.change, isOver } }, answer(found)).reason)
    expect(reasonOf(['192.0.2.1', '192.0.2.2'])).toBe(
      'www.example.com answers 192.0.2.1 and 192.0.2.2. The planned change to 192.0.2.2 is in progress.',
    )
    expect(reasonOf(['192.0.2.9'])).toBe(
      'www.example.com answers 192.0.2.9, which is not part of the planned change from 192.0.2.1 to 192.0.2.2.',
    )
    const over = { ...expectation, expectedValues: ['192.0.2.2'], change: { ...expectation.change, isOver: true } }
    expect(textOf(evaluate(over, answer(['192.0.2.1'])).reason)).toBe(
      'www.example.com answers 192.0.2.1. The planned change to 192.0.2.2 has not arrived in its period.',
    )
    expect(textOf(evaluate(over, answer(['192.0.2.2'])).reason)).toBe('www.example.com answers 192.0.2.2, as expected.')
  })
})
