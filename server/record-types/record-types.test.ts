import { expect, test } from 'vitest'
import { expectationOf, MAX_EXPECTED_VALUE_LENGTH, parseExpectedValues } from './record-types.ts'

test.each([
  ['A', 'www.example.com', true, /not an IPv4 address/],
  ['A', '2001:db8::1', true, /not an IPv4 address. Use one like 192/],
  ['A', '192.0.2.01', true, /not an IPv4 address/],
  ['A', '192.0.2.0/24', true, /set is_exact_match to false/],
  ['A', '192.0.2.7/24', false, /Use 192\.0\.2\.0\/24 for the block or 192\.0\.2\.7 for the address/],
  ['A', '192.0.2.0/33', false, /must be from 0 to 32/],
  ['A', '192.0.2.0/', false, /must be from 0 to 32/],
  ['AAAA', '192.0.2.1', true, /not an IPv6 address. Use one like 2001:db8::1/],
  ['AAAA', 'fe80::1%eth0', true, /not an IPv6 address/],
  ['AAAA', '2001:db8::/129', false, /0 to 128/],
  ['CNAME', '192.0.2.1', true, /is an IP address. Use a host name/],
  ['CNAME', 'https://example.com', true, /A URL is not a DNS name. Use only the host name/],
  ['NS', 'ns1..example.net', true, /empty label/],
  ['NS', '.', true, /not a host name/],
  ['MX', 'high mail.example.com', true, /number from 0 to 65535/],
  ['MX', '65536 mail.example.com', true, /number from 0 to 65535/],
  ['MX', '10 192.0.2.1', true, /is an IP address/],
  ['SPF', 'v=spf10 -all', true, /must begin with "v=spf1"/],
  ['SPF', 'include:_spf.google.com', false, /must begin with "v=spf1"/],
  ['CAA', 'letsencrypt.org', true, /not a CAA property/],
  ['CAA', '0 issue', true, /not a CAA property/],
  ['CAA', '256 issue "ca.example"', true, /0 to 255/],
  ['CAA', 'issue "a" "b"', true, /not a CAA property/],
  ['TXT', '', true, /For an empty TXT record, use ""/],
  ['A', ' ', true, /not an IPv4 address/],
  ['CNAME', '', true, /must not be empty/],
  ['SPF', ' ', true, /must begin with "v=spf1"/],
  ['MX', '10', true, /priority without a host. Use both, as in 10 mail\.example\.com/],
  ['MX', '10 20', true, /ends in a number/],
  ['MX', '10 mail.300', false, /ends in a number/],
  ['PTR', '300.1.1.1', true, /ends in a number, so it is not a host name/],
  ['NS', 'ns1.7.', true, /ends in a number/],
  ['CNAME', '1.1.1', false, /ends in a number/],
  ['CAA', `${'a'.repeat(256)} "x"`, true, /at most 255 characters/],
  ['TXT', 'x'.repeat(MAX_EXPECTED_VALUE_LENGTH + 1), true, /at most 1000 characters/],
] as const)('%s refuses "%s"', (type, text, isExactMatch, reason) => {
  expect(parseExpectedValues(text, type, isExactMatch)).toEqual({
    ok: false,
    errors: { expected_value: expect.objectContaining({ text: expect.stringMatching(reason) }) },
  })
})

test.each([
  ['MX', '010 Mail.Example.com.', '10 mail.example.com'],
  ['MX', 'mail.example.com', 'mail.example.com'],
  ['CAA', 'ISSUE letsencrypt.org', 'issue "letsencrypt.org"'],
  ['CAA', '0  issue  ";"', '0 issue ";"'],
  ['CAA', 'iodef "mailto:a\\"b@example.com"', 'iodef "mailto:a\\"b@example.com"'],
  ['AAAA', '2001:DB8::0:1', '2001:db8::1'],
  ['TXT', '"a" "b"', 'ab'],
  ['TXT', ' ', '" "'],
  ['TXT', '" "', '" "'],
  ['TXT', '"\\"a\\""', '"\\"a\\""'],
  ['TXT', '"he said" hi', '"he said" hi'],
  ['SPF', ' "v=spf1  mx" " -all"', 'v=spf1 mx -all'],
] as const)('%s stores %s as %s', (type, written, stored) => {
  expect(parseExpectedValues(written, type, true)).toEqual({ ok: true, values: [stored] })
})

test('duplicates are removed, and the order is kept', () => {
  const parsed = parseExpectedValues(['B.example.', 'a.example', 'b.EXAMPLE'], 'NS', true)
  expect(parsed).toEqual({ ok: true, values: ['b.example', 'a.example'] })
})

test.each(['CNAME', 'SPF'] as const)('two %s values are refused in exact mode, since a name has one', (type) => {
  const values = type === 'CNAME' ? ['a.example', 'b.example'] : ['v=spf1 mx', 'v=spf1 a']
  const sentence = `A name has only one ${type} record. Use one expected value, or set is_exact_match to false.`
  expect(parseExpectedValues(values, type, true)).toEqual({
    ok: false,
    errors: { expected_value: expect.objectContaining({ text: sentence }) },
  })
  expect(parseExpectedValues([values[0]!, values[0]!], type, true)).toMatchObject({ ok: true })
  expect(parseExpectedValues(values, type, false)).toEqual({ ok: true, values })
})

test('every invalid value is reported at its index', () => {
  const parsed = parseExpectedValues(['192.0.2.1', 'x', '', '::1'], 'A', true)
  expect(parsed.ok || Object.keys(parsed.errors)).toEqual(['expected_value.1', 'expected_value.2', 'expected_value.3'])
})

test.each([0, 11])('%i values are refused', (count) => {
  const parsed = parseExpectedValues(new Array(count).fill('192.0.2.1'), 'A', true)
  expect(parsed).toEqual({
    ok: false,
    errors: { expected_value: expect.objectContaining({ text: expect.stringMatching(/Use 1 to 10/) }) },
  })
})

test.each([
  ['plain text', 'plain text'],
  ['', '""'],
  ['"quoted"', '"\\"quoted\\""'],
  ['a "word" inside', 'a "word" inside'],
])('a text %j that is there is expected as %j', (text, expected) => {
  expect(expectationOf('TXT', [text])).toEqual({ values: [expected], isExact: true })
})

test('a monitor for a missing text allows other texts', () => {
  expect(expectationOf('TXT', [])).toEqual({ values: [], isExact: false })
})

test('if there are more than ten records, the first ten are expected in flexible mode', () => {
  const values = Array.from({ length: 12 }, (_, at) => `192.0.2.${at}`)
  expect(expectationOf('A', values)).toEqual({ values: values.slice(0, 10), isExact: false })
})

test.each([
  ['A', String.raw`\# 4 C0000201`, '192.0.2.1'],
  ['MX', String.raw`\# 8 000a 0461 0162 00`, undefined],
  ['MX', String.raw`\# 7 000a 0361626300 `, '10 abc'],
  ['NS', String.raw`\# 3 016100`, 'a'],
  ['NS', String.raw`\# 4 016100`, undefined],
  ['NS', String.raw`\# 2 0161`, undefined],
  ['NS', String.raw`\# 3 01610`, undefined],
  ['CAA', String.raw`\# 0`, undefined],
  ['TXT', String.raw`\# 4 C0000201`, String.raw`\# 4 C0000201`],
] as const)('%s in the form for any type: %s is %s', (type, written, value) => {
  const parsed = parseExpectedValues(written, type, true)
  expect(parsed.ok ? parsed.values : undefined).toEqual(value === undefined ? undefined : [value])
})
