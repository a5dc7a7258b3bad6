import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { MonitorRecordType } from '#contract/record-types.ts'
import { canonicalAddress } from '../dns/ip-addresses.ts'
import type { CnameChain } from '../dns/outcome.ts'
import { matches, testRecordType } from '../testing/record-type-suite.ts'
import { isMatch } from './compare.ts'
import { decodeUtf8, parsePastedText } from './presentation.ts'
import { parseExpectedValues, recordTypeOf } from './record-types.ts'

const label = fc.stringMatching(/^[a-z0-9_]([a-z0-9-]{0,8}[a-z0-9])?$/)
const host = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => `${labels.join('.')}.example`)
const ipv6 = fc.ipV6().map((text) => canonicalAddress(text)!)
const anyText = fc.string({ unit: 'binary', minLength: 1, maxLength: 100 }).map((text) => decodeUtf8(Buffer.from(text)))
// Quotes and line breaks at the end are removed, and blanks alone must be written in quotes: pasted-values.test.ts has cases.
const plainText = anyText.filter((text) => text.trim() !== '' && !text.includes('"') && !/[\r\n]$/.test(text))
const issuer = fc.tuple(fc.constantFrom(0, 128), fc.constantFrom('issue', 'issuewild'), host)

/** Records as the DNS holds them, in canonical text. */
const RECORDS = {
  A: fc.ipV4(),
  AAAA: ipv6,
  CNAME: host,
  MX: fc.tuple(fc.nat(65_535), host).map(([priority, name]) => `${priority} ${name}`),
  TXT: plainText,
  NS: host,
  PTR: host,
  SPF: fc
    .array(fc.constantFrom('mx', '-all', '?a', 'include:a.example', 'ip4:192.0.2.1'))
    .map((terms) => ['v=spf1', ...terms].join(' ')),
  CAA: issuer.map(([flags, tag, name]) => `${flags} ${tag} "${name}"`),
} satisfies Partial<Record<MonitorRecordType, fc.Arbitrary<string>>>
type Type = keyof typeof RECORDS
const TYPES = Object.keys(RECORDS) as Type[]

for (const type of TYPES) testRecordType(type, { record: RECORDS[type], isSingle: type === 'CNAME' || type === 'SPF' })

test.each(TYPES)('%s: whatever is accepted is met by records that can be published', (type) => {
  const number = fc.nat(70_000).map(String)
  const joined = (separator: string) =>
    fc
      .array(fc.oneof(number, label, host, ipv6, fc.ipV4()), { minLength: 1, maxLength: 4 })
      .map((all) => all.join(separator))
  const written = fc.oneof(
    RECORDS[type],
    fc.string(),
    joined('.'),
    joined(' '),
    joined(' ').map((all) => `v=spf1 ${all}`),
    number,
  )
  fc.assert(
    fc.property(fc.array(written, { minLength: 1, maxLength: 3 }), fc.boolean(), (texts, isExactMatch) => {
      const parsed = parseExpectedValues(texts, type, isExactMatch)
      if (!parsed.ok) return
      const { records, chain } = published(type, parsed.values, isExactMatch)
      expect(isPublishable(type, records)).toBe(true)
      const matcher = recordTypeOf(type)
      const rrset = { name: 'www.example.com', type: matcher.queryType, ttl: 60, values: records }
      const observed = matcher.observe({ kind: 'answer', rrset, chain })
      expect(isMatch(matcher.difference(parsed.values, observed, isExactMatch, chain))).toBe(true)
    }),
    { numRuns: 500 },
  )
})

/** Records that should meet the expectation, as the DNS would hold them. */
function published(type: Type, values: string[], isExactMatch: boolean): { records: string[]; chain: CnameChain } {
  switch (type) {
    case 'A':
    case 'AAAA':
      return { records: values.map((value) => value.split('/')[0]!), chain: [] }
    case 'MX':
      return { records: values.map((value) => (value.includes(' ') ? value : `10 ${value}`)), chain: [] }
    case 'TXT':
      return { records: values.map(parsePastedText), chain: [] }
    case 'CAA':
      return { records: values.map((value) => (/^\d+ /.test(value) ? value : `0 ${value}`)), chain: [] }
    case 'SPF':
      if (isExactMatch) return { records: values, chain: [] }
      return { records: [['v=spf1', ...values.flatMap((value) => value.split(' ').slice(1))].join(' ')], chain: [] }
    case 'CNAME': {
      const chain = values.map((target, place) => ({ name: values[place - 1] ?? 'www.example.com', target, ttl: 60 }))
      return isExactMatch ? { records: values, chain: [] } : { records: values.slice(0, 1), chain }
    }
    case 'NS':
    case 'PTR':
      return { records: values, chain: [] }
  }
}

function isPublishable(type: Type, records: string[]): boolean {
  const isOne = records.length === 1
  if (type === 'CNAME' || type === 'SPF') return isOne && (type === 'SPF' || isHost(records[0]!))
  if (type === 'NS' || type === 'PTR') return records.every(isHost)
  if (type !== 'MX') return true
  return records.every((record) => record.endsWith(' .') || (/^\d+ \S+$/.test(record) && isHost(record.split(' ')[1]!)))
}

/** No top-level domain begins with a digit. */
const isHost = (name: string) => !/(?:^|\.)\d+$/.test(name) && name.length <= 253

// A name has one CNAME and one SPF record, so sets are of no interest there.
test.each(['A', 'AAAA', 'MX', 'TXT', 'NS', 'PTR', 'CAA'] as const)(
  '%s: exact mode takes no record less or more',
  (type) => {
    const records = fc.uniqueArray(RECORDS[type], { minLength: 2, maxLength: 6 })
    fc.assert(
      fc.property(records, ([other = '', ...values]) => {
        expect(matches(type, [other, ...values], values, true)).toBe(false)
        expect(matches(type, values, [other, ...values], true)).toBe(false)
        expect(matches(type, [other, ...values], values, false)).toBe(false)
        expect(matches(type, values, [other, ...values], false)).toBe(true)
      }),
    )
  },
)

test.each(['CNAME', 'NS', 'PTR', 'MX', 'AAAA', 'CAA'] as const)(
  '%s: letter case and a trailing dot do not matter',
  (type) => {
    const dot = type === 'AAAA' || type === 'CAA' ? '' : '.'
    fc.assert(
      fc.property(RECORDS[type], fc.boolean(), (value, isExactMatch) => {
        expect(matches(type, [`${value.toUpperCase()}${dot}`], [value], isExactMatch)).toBe(true)
      }),
    )
  },
)

test('AAAA: different spellings of an address are equal', () => {
  fc.assert(
    fc.property(fc.ipV6(), fc.boolean(), (text, isExactMatch) => {
      expect(matches('AAAA', [text], [canonicalAddress(text)!], isExactMatch)).toBe(true)
    }),
  )
})

test('TXT: letter case matters', () => {
  fc.assert(
    fc.property(plainText, fc.boolean(), (text, isExactMatch) => {
      fc.pre(text.toLowerCase() !== text && !/^\s*v\s*=/i.test(text))
      expect(matches('TXT', [text.toLowerCase()], [text], isExactMatch)).toBe(false)
    }),
  )
})

test('TXT: any text can be expected in quotes, in any number of chunks', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme', maxLength: 40 }), { minLength: 1, maxLength: 4 }), (chunks) => {
      const written = chunks.map((chunk) => `"${chunk.replace(/["\\]/g, '\\$&')}"`).join(' ')
      expect(matches('TXT', [written], [decodeUtf8(Buffer.from(chunks.join('')))], true)).toBe(true)
    }),
  )
})

test('SPF: the order of terms does not matter in flexible mode', () => {
  fc.assert(
    fc.property(RECORDS.SPF, (text) => {
      const [version, ...terms] = text.split(' ')
      expect(matches('SPF', [[version, ...terms.reverse()].join(' ')], [text], false)).toBe(true)
    }),
  )
})

test('a hostile RRset is compared quickly', () => {
  // Shapes that naive patterns read in quadratic time, longer than a packet so that it would show.
  const shapes = ['v=spf1 ', '%{', '; a', '=', ' ', '"', '\\', '"\\', 'a=', ';'].map((part) =>
    part.repeat(500_000 / part.length),
  )
  const many = Array.from({ length: 2500 }, (_, index) => `0 issue "ca${index}.example; a=b"`)
  for (const shape of shapes) {
    for (const prefix of ['', 'v=spf1 ', 'v=DMARC1;', 'v=DKIM1;p='])
      matches('TXT', ['v=DMARC1; p=none'], [prefix + shape], false)
    matches('SPF', ['v=spf1 -all'], [`v=spf1 ${shape}`], false)
    matches('CAA', ['issue "ca.example"'], [`0 issue "ca.example;${shape}"`], true)
  }
  matches('CAA', ['issue "ca.example"'], many, true)
})
