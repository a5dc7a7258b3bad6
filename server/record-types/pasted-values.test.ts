import { expect, test } from 'vitest'
import type { MonitorRecordType } from '#contract/record-types.ts'
import { fieldTexts } from '../problem.ts'
import { parseExpectedValues } from './record-types.ts'

const stored = (type: MonitorRecordType, value: string, isExactMatch = true) => {
  const parsed = parseExpectedValues([value], type, isExactMatch)
  return parsed.ok ? parsed.values : Object.values(fieldTexts(parsed.errors)).join(' ')
}

const KEY = 'v=DKIM1; h=sha256; k=rsa; p=MIIB'

test.each([
  [
    'opendkim-genkey, with its comment',
    `s1._domainkey\tIN\tTXT\t( "v=DKIM1; h=sha256; k=rsa; "\n\t  "p=MIIB" )  ; ----- DKIM key s1 for a.example`,
  ],
  ['a comment after each string', '( "v=DKIM1; h=sha256; "  ; one\n  "k=rsa; p=MIIB" ) ; two'],
  ['a record line with a TTL', 's1._domainkey.a.example. 300 IN TXT "v=DKIM1; h=sha256; k=rsa; p=MIIB"'],
  ['a record line with @ and without a class', `@ TXT "${KEY}"`],
  ['chunks without their outer quotes', 'v=DKIM1; h=sha256; " "k=rsa; p=MI" "IB'],
  ['typographic quotes', `\u201c${KEY}\u201d`],
  ['a final line break', `${KEY}\r\n`],
])('a TXT value is understood as pasted: %s', (_, pasted) => {
  expect(stored('TXT', pasted)).toEqual([KEY])
})

test.each(['say "hi" to all', 'a; b', 'a "b" c', '"', '\u201c', '(x)', 'IN TXT', 'a=1" "b', '";"'])(
  'another text stays as it is, also when it is parsed again: %s',
  (text) => {
    const [value] = stored('TXT', text) as string[]
    expect(stored('TXT', value!)).toEqual([value])
  },
)

test('a line of a zone file without quotes is refused with the remedy', () => {
  expect(stored('TXT', '@ IN TXT v=spf1 -all')).toBe(
    '"@ IN TXT v=spf1 -all" is a line of a zone file. Enter only the text of the record, or put the text in quotes.',
  )
})

test('typographic quotes around a CAA value are quotes', () => {
  expect(stored('CAA', '0 issuewild \u201cca.example\u201d')).toEqual(['0 issuewild "ca.example"'])
})

test('a CAA value with one typographic quote is refused', () => {
  expect(stored('CAA', '0 issuewild \u201cca.example')).toContain('is not a CAA property')
})

test.each([
  ['CNAME', '*.cdn.example'],
  ['NS', '*.cdn.example.'],
  ['MX', '10 *.cdn.example'],
  ['SRV', '0 0 443 *.cdn.example'],
] as const)('a %s record with a wildcard as its target is refused', (type, value) => {
  expect(stored(type, value)).toContain('is a wildcard, which no record answers. Use the name that the record has.')
})

test.each([
  ['A', '@ IN A 192.0.2.1', '192.0.2.1'],
  ['A', 'www 300 A 192.0.2.1', '192.0.2.1'],
  ['MX', 'a.example. 300 IN MX 10 mail.a.example.', '10 mail.a.example'],
  ['MX', 'MX 10 mail.a.example.', '10 mail.a.example'],
  ['CNAME', 'www\tIN\tCNAME\tlb.a.example.', 'lb.a.example'],
  ['CAA', '@ IN CAA 0 issue "ca.example"', '0 issue "ca.example"'],
  ['SOA', 'a.example. IN SOA ns1 h.a.example. ( 1 ; serial\n 2 3 4 5 )', 'ns1 h.a.example 1 2 3 4 5'],
] as const)('a whole line of a zone file is read as its %s record: %j', (type, line, value) => {
  expect(stored(type, line)).toEqual([value])
})

test('a line of a zone file with another type, or with a record that cannot be read, is refused', () => {
  expect(stored('A', '@ IN MX 10 mail.a.example.')).toContain('is not an IPv4 address')
  expect(stored('A', '@ IN A 192.0.2')).toContain('"@ IN A 192.0.2" is not an IPv4 address')
})

test('an SOA record with parentheses and comments is read', () => {
  const pasted = `ns1.a.example. hostmaster.a.example. (
    2026112101 ; serial (of today)
    1h         ; refresh
    15m ; retry
    2w ; expire
    300 ) ; minimum`
  expect(stored('SOA', pasted)).toEqual(['ns1.a.example hostmaster.a.example 2026112101 3600 900 1209600 300'])
})
