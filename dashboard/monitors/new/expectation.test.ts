import { describe, expect, test } from 'vitest'
import {
  type Draft,
  matchesLiveRecords,
  type ProposedExpectation,
  proposedDraft,
  setValue,
  withoutEmptyValues,
} from './expectation.ts'

const draft = (type: Draft['type'], ...values: string[]): Draft => ({ type, values, isExact: true })
const offer = (record_type: ProposedExpectation['record_type'], ...expected_value: string[]): ProposedExpectation => ({
  record_type,
  expected_value,
  is_exact_match: true,
})

describe('the expectation of a new monitor', () => {
  test('begins with the values that the server proposes', () => {
    expect(proposedDraft(offer('A', '192.0.2.1', '192.0.2.2'))).toEqual(draft('A', '192.0.2.1', '192.0.2.2'))
    expect(proposedDraft({ ...offer('TXT', 'text'), is_exact_match: false }).isExact).toBe(false)
  })

  test('begins with one empty value if there are no records', () => {
    expect(proposedDraft(offer('CNAME'))).toEqual(draft('CNAME', ''))
  })

  test('equals the same values in any order', () => {
    expect(matchesLiveRecords(draft('A', '192.0.2.2', '192.0.2.1 '), offer('A', '192.0.2.1', '192.0.2.2'))).toBe(true)
    expect(matchesLiveRecords(draft('A', '192.0.2.2'), offer('A', '192.0.2.1', '192.0.2.2'))).toBe(false)
  })

  test('pasted lines become separate values', () => {
    expect(setValue(draft('A', '192.0.2.1', ''), 1, '192.0.2.2\n192.0.2.3\n')).toEqual([
      '192.0.2.1',
      '192.0.2.2',
      '192.0.2.3',
    ])
  })

  test('pasted lines of a text record stay one value', () => {
    expect(setValue(draft('TXT', ''), 0, '"v=DKIM1; "\n  "p=abc"')).toEqual(['"v=DKIM1; " "p=abc"'])
  })

  test('is sent without empty values', () => {
    expect(withoutEmptyValues(draft('A', '', '192.0.2.1', ' ')).values).toEqual(['192.0.2.1'])
  })
})
