import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { MonitorRecordType } from '#contract/record-types.ts'
import { type NameInput, parseMonitorName, parseNameFilter } from './names.ts'

describe('a full domain is split at the registrable domain', () => {
  test.each([
    ['WWW.Example.com.', 'example.com', 'www'],
    ['example.com', 'example.com', ''],
    ['a.b.example.co.uk', 'example.co.uk', 'a.b'],
    ['_dmarc.example.com', 'example.com', '_dmarc'],
    ['s1._domainkey.mail.example.com', 'example.com', 's1._domainkey.mail'],
    ['*.example.com', 'example.com', '*'],
    ['shop.bücher.de', 'xn--bcher-kva.de', 'shop'],
    // The private section of the list does not count: the zone is cut at github.io.
    ['someone.github.io', 'github.io', 'someone'],
    ['co.uk', 'co.uk', ''],
    ['com', 'com', ''],
    ['localhost', 'localhost', ''],
    ['nas.home.lan', 'home.lan', 'nas'],
    ['.', '.', ''],
  ])('%s', (fullDomain, domain, subdomain) => {
    expect(parseMonitorName({ full_domain: fullDomain }, 'A')).toMatchObject({ ok: true, name: { domain, subdomain } })
  })
})

test.each<[NameInput, { domain: string; subdomain: string; owner: string }]>([
  [
    { domain: 'Example.COM.', subdomain: 'WWW.' },
    { domain: 'example.com', subdomain: 'www', owner: 'www.example.com' },
  ],
  [{ domain: 'www.example.com' }, { domain: 'www.example.com', subdomain: '', owner: 'www.example.com' }],
  [
    { domain: 'example.com', subdomain: '@' },
    { domain: 'example.com', subdomain: '', owner: 'example.com' },
  ],
  [
    { domain: 'bücher.de', subdomain: 'straße' },
    { domain: 'xn--bcher-kva.de', subdomain: 'xn--strae-oqa', owner: 'xn--strae-oqa.xn--bcher-kva.de' },
  ],
  [
    { domain: 'example.com', subdomain: '*.a' },
    { domain: 'example.com', subdomain: '*.a', owner: '*.a.example.com' },
  ],
  [{ domain: '.' }, { domain: '.', subdomain: '', owner: '' }],
  [
    { domain: '.', subdomain: 'com' },
    { domain: '.', subdomain: 'com', owner: 'com' },
  ],
  [
    { domain: 'other.test', full_domain: 'a.example.com' },
    { domain: 'example.com', subdomain: 'a', owner: 'a.example.com' },
  ],
])('%o is stored as given, normalised', (input, name) => {
  expect(parseMonitorName(input, 'TXT')).toEqual({ ok: true, name })
})

describe('a PTR monitor accepts an address or any reverse name', () => {
  test.each([
    [{ domain: '192.0.2.10' }, '10.2.0.192.in-addr.arpa'],
    [{ full_domain: '192.0.2.10' }, '10.2.0.192.in-addr.arpa'],
    [{ domain: '2001:DB8::1' }, '1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa'],
    [{ full_domain: '5.0/25.2.0.192.in-addr.arpa' }, '5.0/25.2.0.192.in-addr.arpa'],
    [{ domain: '2.0.192.in-addr.arpa', subdomain: '5.0/25' }, '5.0/25.2.0.192.in-addr.arpa'],
  ])('%o', (input, owner) => {
    expect(parseMonitorName(input, 'PTR')).toMatchObject({ ok: true, name: { owner } })
  })

  test('no other monitor accepts an address', () => {
    const parsed = parseMonitorName({ domain: '192.0.2.10' }, 'A')
    expect(parsed).toEqual({
      ok: false,
      errors: { domain: expect.objectContaining({ text: expect.stringMatching(/IP address.*PTR.*use a name/) }) },
    })
  })
})

describe('one response names the errors of all fields', () => {
  test.each<[NameInput, Record<string, RegExp>]>([
    [{}, { domain: /domain or full_domain is required/ }],
    [{ domain: '' }, { domain: /empty/ }],
    [
      { domain: 'a..b', subdomain: '-.-..' },
      { domain: /empty label/, subdomain: /empty label/ },
    ],
    [
      { domain: 'https://example.com', subdomain: 'me@' },
      { domain: /only the host name/, subdomain: /"@" is not/ },
    ],
    [{ domain: `${'a'.repeat(64)}.com` }, { domain: /63 octets/ }],
    [{ domain: `${'a.'.repeat(127)}com` }, { domain: /255 characters/ }],
    [{ domain: 'example.com', subdomain: 'a'.repeat(256) }, { subdomain: /255 characters/ }],
    [{ domain: 'example.com', subdomain: `${'a.'.repeat(121)}bb` }, { subdomain: /253 characters/ }],
    [{ full_domain: 'a'.repeat(513) }, { full_domain: /512 characters/ }],
    [{ domain: '', full_domain: '..' }, { full_domain: /empty label/ }],
    [{ full_domain: '300.1.1.1' }, { full_domain: /ends in a number, which is not a top-level domain/ }],
    [{ domain: '1.1', subdomain: '300.1' }, { domain: /ends in a number/ }],
    [{ domain: '.', subdomain: 'a.1' }, { subdomain: /ends in a number/ }],
    [{ domain: 'example..com', subdomain: '0/25' }, { domain: /empty label/ }],
    [{ domain: 'example.com', subdomain: '0/25' }, { subdomain: /"\/" is not allowed/ }],
  ])('%o', (input, reasons) => {
    const errors = Object.fromEntries(
      Object.entries(reasons).map(([k, re]) => [k, expect.objectContaining({ text: expect.stringMatching(re) })]),
    )
    expect(parseMonitorName(input, 'A')).toEqual({ ok: false, errors })
  })
})

const label = fc.stringMatching(/^[a-z0-9_]([a-z0-9-]{0,10}[a-z0-9])?$/)
const fullName = fc.array(label, { minLength: 1, maxLength: 6 }).map((labels) => `${labels.join('.')}.example.co.uk`)

test('the full_domain filter finds a name however it is split or spelled', () => {
  fc.assert(
    fc.property(fullName, fc.nat(), (full, at) => {
      const labels = full.split('.')
      const cut = at % labels.length
      const input = { domain: labels.slice(cut).join('.').toUpperCase(), subdomain: labels.slice(0, cut).join('.') }
      const monitor = parseMonitorName(input, 'A')
      const filter = parseNameFilter({ full_domain: `${full.toUpperCase()}.` })
      expect(monitor.ok && filter.ok && monitor.name.owner === filter.filter.owner).toBe(true)
    }),
  )
})

test('the parts of a full domain are accepted as domain and subdomain', () => {
  fc.assert(
    fc.property(fullName, (full) => {
      const split = parseMonitorName({ full_domain: full }, 'A')
      if (!split.ok) throw new Error('refused')
      const { domain, subdomain } = split.name
      expect(parseMonitorName({ domain, subdomain }, 'A')).toEqual(split)
    }),
  )
})

test.each<[NameInput, object]>([
  [{}, {}],
  [{ domain: 'EXAMPLE.com.' }, { domain: 'example.com' }],
  [{ subdomain: '' }, { subdomain: '' }],
  [
    { domain: 'bücher.de', subdomain: 'WWW' },
    { domain: 'xn--bcher-kva.de', subdomain: 'www' },
  ],
  [{ domain: '192.0.2.1' }, { domain: '1.2.0.192.in-addr.arpa' }],
  [{ subdomain: '5.0/25' }, { subdomain: '5.0/25' }],
  [{ domain: 'a..b', subdomain: '..', full_domain: 'x.example.com' }, { owner: 'x.example.com' }],
])('the filter %o asks for stored forms', (input, filter) => {
  expect(parseNameFilter(input)).toEqual({ ok: true, filter })
})

test('an invalid name is refused in every filter field', () => {
  const parsed = parseNameFilter({ domain: 'a..b', subdomain: '..' })
  const sentence = expect.objectContaining({ code: 'empty_label' })
  expect(parsed).toEqual({ ok: false, errors: { domain: sentence, subdomain: sentence } })
})

test('any text is refused with a message or becomes a name that is accepted again', () => {
  const text = fc.oneof(fc.string({ unit: 'binary' }), fc.domain(), fc.ipV4(), fc.ipV6())
  const types = fc.constantFrom<MonitorRecordType>('A', 'PTR')
  fc.assert(
    fc.property(text, text, types, (domain, subdomain, type) => {
      const parsed = parseMonitorName({ domain, subdomain }, type)
      if (parsed.ok) expect(parseMonitorName(parsed.name, type)).toEqual(parsed)
      else expect(Object.values(parsed.errors).every(({ text }) => /^[A-Zm"].*\.$/su.test(text))).toBe(true)
    }),
    { numRuns: 500 },
  )
})
