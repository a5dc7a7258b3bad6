import { describe, expect, test } from 'vitest'
import type { QuestionType } from '../dns/outcome.ts'
import { rdataText } from '../dns/rdata.ts'
import { decodeUtf8 } from './presentation.ts'
import { RDATA_FORMATS } from './record-types.ts'

function textOf(type: QuestionType, octets: (number | string)[]): string {
  const rdata = Buffer.concat(
    octets.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from([part]))),
  )
  // What stands before the rdata must not be needed, what stands after it must not be read.
  const packet = { octets: Buffer.concat([Buffer.alloc(12), rdata, Buffer.from('after')]), tails: new Map() }
  return rdataText(RDATA_FORMATS[type], packet, 12, 12 + rdata.length)
}

describe('rdata has one canonical text', () => {
  test.each<[QuestionType, (number | string)[], string]>([
    ['A', [192, 0, 2, 1], '192.0.2.1'],
    ['AAAA', [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], '2001:db8::1'],
    ['AAAA', [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1], '::ffff:192.0.2.1'],
    ['CNAME', [3, 'WwW', 7, 'Example', 3, 'com', 0], 'www.example.com'],
    ['NS', [0], '.'],
    ['PTR', [3, 'a.b', 2, 'c\\', 1, 0, 0], 'a\\046b.c\\092.\\000'],
    ['MX', [0, 10, 4, 'mail', 7, 'example', 3, 'com', 0], '10 mail.example.com'],
    ['MX', [0, 0, 0], '0 .'],
    ['TXT', [7, 'v=spf1 ', 4, '-All'], 'v=spf1 -All'],
    ['TXT', [0], ''],
    ['TXT', [2, 0xc3, 0xbc, 1, 0xff], 'ü\\255'],
    ['TXT', [1, 0xc3, 1, 0xbc], 'ü'],
    ['CAA', [0, 5, 'issue', 'ca.example'], '0 issue "ca.example"'],
    ['CAA', [128, 5, 'IODEF', 'a"b\\c', 7], '128 iodef "a\\"b\\\\c\\007"'],
    ['CAA', [0, 5, 'issue'], '0 issue ""'],
    ['CAA', [0, 12, 'ca-Extension', 'x'], '0 ca-extension "x"'],
    ['CAA', [0, 3, 'a b', 'x'], '0 a\\032b "x"'],
    ['CAA', [0, 0, 'x'], '0 "" "x"'],
    [
      'SOA',
      [1, 'M', 0, 1, 'r', 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 255, 255, 255, 255],
      'm r 1 2 3 4 4294967295',
    ],
  ])('%s %j', (type, octets, text) => {
    expect(textOf(type, octets)).toBe(text)
  })
})

describe('rdata that does not fit its type is malformed', () => {
  test.each<[QuestionType, (number | string)[]]>([
    ['A', [192, 0, 2]],
    ['A', [192, 0, 2, 1, 1]],
    ['AAAA', [1]],
    ['CNAME', []],
    ['CNAME', [1, 'a']],
    ['CNAME', [1, 'a', 0, 0]],
    ['MX', [0]],
    ['MX', [0, 1]],
    ['TXT', []],
    ['TXT', [5, 'four']],
    ['CAA', [0]],
    ['CAA', [0, 9, 'issue']],
    ['SOA', [0, 0, 0, 0, 0, 1]],
  ])('%s %j', (type, octets) => {
    expect(() => textOf(type, octets)).toThrow()
  })
})

test('octets that are not UTF-8 are escaped', () => {
  expect(decodeUtf8(Buffer.from('Grüße 🎉 \\ "x"'))).toBe('Grüße 🎉 \\ "x"')
  expect(decodeUtf8(Buffer.from([0xf0, 0x9f, 0x8e, 97, 0, 0xed, 0xa0, 0x80]))).toBe(
    '\\240\\159\\142a\\000\\237\\160\\128',
  )
})
