import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { reverseName } from './ip-addresses.ts'
import { parseDomainName, wireLength, writeName } from './names.ts'

describe('a name is brought to its canonical text', () => {
  test.each([
    ['WWW.Example.COM.', 'www.example.com'],
    ['.', ''],
    ['com', 'com'],
    ['_dmarc.example.com', '_dmarc.example.com'],
    ['*.example.com', '*.example.com'],
    ['-a-.example', '-a-.example'],
    ['bücher.de', 'xn--bcher-kva.de'],
    ['_dmarc.BÜCHER.de', '_dmarc.xn--bcher-kva.de'],
    ['faß.de', 'xn--fa-hia.de'],
    ['例え。テスト', 'xn--r8jz45g.xn--zckzah'],
    ['１.２.example', '1.2.example'],
    ['xn--not-punycode-at-all-.example', 'xn--not-punycode-at-all-.example'],
    ['1.0/25.2.0.192.in-addr.arpa', '1.0/25.2.0.192.in-addr.arpa'],
    ['a\\046b.example', 'a\\046b.example'],
    ['\\065\\066c.example', 'abc.example'],
    [`${'a'.repeat(63)}.example`, `${'a'.repeat(63)}.example`],
  ])('%s', (text, name) => {
    expect(parseDomainName(text)).toEqual({ ok: true, name })
  })
})

describe('what is not a name is refused with the reason', () => {
  test.each([
    ['', /empty/],
    ['..', /empty label/],
    ['a..b', /empty label/],
    ['.example.com', /empty label/],
    [`${'a'.repeat(64)}.example`, /1 to 63 octets/],
    [`${'a.'.repeat(127)}b`, /at most 253 characters/],
    ['a'.repeat(5000), /at most 253 characters/],
    ['https://example.com', /only the host name/],
    ['example.com/path.html', /without a URL/],
    ['me@example.com', /"@" is not allowed/],
    ['exam ple.com', /" " is not allowed/],
    ['a\u0000b.com', /not allowed/],
    ['a\\999.com', /not allowed/],
    ['a\\.com', /not allowed/],
    ['ü%41.de', /internationalized/],
    ['ü/.de', /internationalized/],
    ['xn--a.\u00ad', /internationalized/],
  ])('%s', (text, reason) => {
    expect(parseDomainName(text)).toEqual({
      ok: false,
      reason: expect.objectContaining({ text: expect.stringMatching(reason) }),
    })
  })
})

function onTheWire(name: string): Buffer {
  const packet = Buffer.alloc(wireLength(name), 255)
  expect(writeName(packet, 0, name)).toBe(packet.length)
  return packet
}

test('253 characters are allowed', () => {
  const name = `${'a.'.repeat(126)}b`
  expect(parseDomainName(name)).toEqual({ ok: true, name })
})

test('any text is either refused or becomes a name that stays as it is and fits on the wire', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'grapheme' }), fc.domain()), (text) => {
      const parsed = parseDomainName(text)
      if (!parsed.ok) return
      expect(parsed.name === '' ? parseDomainName('.') : parseDomainName(parsed.name)).toEqual(parsed)
      expect(onTheWire(parsed.name).length).toBeLessThanOrEqual(255)
    }),
  )
})

test('a name goes over the wire as its octets', () => {
  expect(onTheWire('a\\046b.c')).toEqual(Buffer.from('\u0003a.b\u0001c\u0000'))
  expect(onTheWire('')).toEqual(Buffer.from([0]))
})

test.each(['.', 'a..b', 'a.', `${'a'.repeat(64)}.b`, `${'a.'.repeat(127)}b`])('%s is no name to write', (text) => {
  expect(() => onTheWire(text)).toThrow('Not a name')
})

test.each([
  ['192.0.2.1', '1.2.0.192.in-addr.arpa'],
  ['2001:DB8::1', '1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa'],
  ['::ffff:192.0.2.1', '1.0.2.0.0.0.0.c.f.f.f.f.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.arpa'],
  ['192.0.2', undefined],
  ['example.com', undefined],
])('the reverse name of %s is %s', (ip, name) => {
  expect(reverseName(ip)).toBe(name)
})
