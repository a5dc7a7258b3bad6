import { describe, expect, test } from 'vitest'
import { type Draft, draftOf, filled, isAsFound, withValue } from './new-expectation.ts'

const draft = (type: Draft['type'], ...values: string[]): Draft => ({ type, values, isExact: true })

describe('the expectation of a new monitor', () => {
  test('begins with what stands in the DNS, exactly', () => {
    expect(draftOf({ record_type: 'A', values: ['192.0.2.1', '192.0.2.2'] })).toEqual(
      draft('A', '192.0.2.1', '192.0.2.2'),
    )
  })

  test('begins with one empty value where nothing stands', () => {
    expect(draftOf({ record_type: 'CNAME', values: [] })).toEqual(draft('CNAME', ''))
  })

  test('of a text that is still to come, others may stand beside it', () => {
    expect(draftOf({ record_type: 'TXT', values: [] }).isExact).toBe(false)
  })

  test('of more records than can be expected takes ten, and lets there be more', () => {
    const values = Array.from({ length: 12 }, (_, at) => `192.0.2.${at}`)
    expect(draftOf({ record_type: 'A', values })).toMatchObject({ values: values.slice(0, 10), isExact: false })
  })

  test.each([
    ['plain text', 'plain text'],
    ['', '""'],
    ['"quoted"', '"\\"quoted\\""'],
    ['a "word" inside', 'a "word" inside'],
  ])('a text %j in the DNS is expected as %j', (text, expected) => {
    expect(draftOf({ record_type: 'TXT', values: [text] }).values).toEqual([expected])
  })

  test('equals what stands there in any order', () => {
    expect(
      isAsFound(draft('A', '192.0.2.2', '192.0.2.1 '), { record_type: 'A', values: ['192.0.2.1', '192.0.2.2'] }),
    ).toBe(true)
    expect(isAsFound(draft('A', '192.0.2.2'), { record_type: 'A', values: ['192.0.2.1', '192.0.2.2'] })).toBe(false)
  })

  test('pasted lines become values of their own', () => {
    expect(withValue(draft('A', '192.0.2.1', ''), 1, '192.0.2.2\n192.0.2.3\n')).toEqual([
      '192.0.2.1',
      '192.0.2.2',
      '192.0.2.3',
    ])
  })

  test('pasted lines of a text stay one text', () => {
    expect(withValue(draft('TXT', ''), 0, '"v=DKIM1; "\n  "p=abc"')).toEqual(['"v=DKIM1; " "p=abc"'])
  })

  test('is sent without empty values', () => {
    expect(filled(draft('A', '', '192.0.2.1', ' ')).values).toEqual(['192.0.2.1'])
  })
})
