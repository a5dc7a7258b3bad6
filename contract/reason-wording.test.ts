import { expect, test } from 'vitest'
import { textOf } from './reasons.ts'

const reason = (observed: string, expected: string) =>
  textOf({
    code: 'unexpected_values',
    params: {
      ...{ name: 'a.example', record_type: 'TXT', observed: [observed], matched: [] },
      ...{ missing: [expected], unexpected: [observed] },
      ...{ counts: { observed: 1, matched: 0, missing: 1, unexpected: 1 }, record: { name: 'a.example', type: 'TXT' } },
    },
  })

test('quotation marks inside a record are shown and named', () => {
  expect(reason('"v=spf1 include:a.example -all"', 'v=spf1 include:a.example -all')).toBe(
    'a.example answers ""v=spf1 include:a.example -all"" instead of "v=spf1 include:a.example -all". The record contains quotation marks that are not expected. Remove them where the zone is edited.',
  )
})

test.each([
  ['v=spf1\u00a0-all', 'v=spf1 -all', 'Only invisible characters differ (U+00A0).'],
  ['site=1\u200b', 'site=1', 'Only invisible characters differ (U+200B).'],
  ['site=1', '\u201csite=1\u201d', 'Only the quotation marks differ.'],
])('characters that a reader cannot see are named: %j', (observed, expected, sentence) => {
  expect(reason(observed, expected)).toMatch(new RegExp(`${sentence.replace(/[()+.]/g, '\\$&')}$`))
})

test('spaces of other widths are shown, so that the two texts differ', () => {
  expect(reason('v=spf1\u00a0-all', 'v=spf1 -all')).toMatch(
    /^a\.example answers v=spf1<U\+00A0>-all instead of "v=spf1 -all"\./,
  )
})

test('other values have no such sentence', () => {
  expect(reason('site=2', 'site=1')).toBe('a.example answers site=2 instead of site=1.')
})
