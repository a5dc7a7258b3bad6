import { describe, expect, test } from 'vitest'
import type { MonitorRecordType } from '#contract/record-types.ts'
import type { CnameChain } from '../dns/outcome.ts'
import { isMatch } from './compare.ts'
import type { Answer } from './record-type.ts'
import { parseExpectedValues, recordTypeOf } from './record-types.ts'

/** Expected as a person writes it, records as the DNS holds them, and whether they match: `exact` and `flexible`. */
type Case = [about: string, expected: string[], records: string[], exact: boolean | 'refused', flexible: boolean]

const CASES: Partial<Record<MonitorRecordType, Case[]>> = {
  A: [
    ['the same address', ['192.0.2.1'], ['192.0.2.1'], true, true],
    ['the same pool in another order', ['192.0.2.2', '192.0.2.1'], ['192.0.2.1', '192.0.2.2'], true, true],
    ['one address more', ['192.0.2.1'], ['192.0.2.1', '192.0.2.2'], false, true],
    ['one address less', ['192.0.2.1', '192.0.2.2'], ['192.0.2.1'], false, false],
    ['a pool named by its block', ['192.0.2.0/24'], ['192.0.2.7', '192.0.2.9'], 'refused', true],
    ['two blocks and a record in one', ['192.0.2.0/24', '198.51.100.0/24'], ['192.0.2.7'], 'refused', false],
    ['a record outside the block', ['192.0.2.0/25'], ['192.0.2.128'], 'refused', false],
    ['any address at all', ['0.0.0.0/0'], ['203.0.113.9'], 'refused', true],
  ],
  AAAA: [
    ['another spelling', ['2001:0DB8:0:0::0:1'], ['2001:db8::1'], true, true],
    ['a mapped IPv4 address in hex', ['::ffff:c000:201'], ['::ffff:192.0.2.1'], true, true],
    ['a mapped IPv4 address, dotted', ['::FFFF:192.0.2.1'], ['::ffff:192.0.2.1'], true, true],
    ['a block of mapped addresses', ['::ffff:192.0.2.0/120'], ['::ffff:192.0.2.77'], 'refused', true],
    ['a network', ['2001:db8::/32'], ['2001:db8:ffff::9'], 'refused', true],
    ['a neighbouring network', ['2001:db8::/32'], ['2001:db9::9'], 'refused', false],
  ],
  MX: [
    ['hosts alone', ['ASPMX.L.Google.com.'], ['1 aspmx.l.google.com'], true, true],
    ['a stated priority', ['1 aspmx.l.google.com'], ['1 aspmx.l.google.com'], true, true],
    ['another priority than stated', ['10 aspmx.l.google.com'], ['1 aspmx.l.google.com'], false, false],
    ['a backup host more', ['mx1.example.net'], ['10 mx1.example.net', '20 mx2.example.net'], false, true],
    ['one host at two priorities', ['mx.example.net'], ['10 mx.example.net', '20 mx.example.net'], true, true],
    [
      'the second priority is not stated',
      ['10 mx.example.net'],
      ['10 mx.example.net', '20 mx.example.net'],
      false,
      true,
    ],
    [
      'both priorities stated',
      ['20 mx.example.net', '10 mx.example.net'],
      ['10 mx.example.net', '20 mx.example.net'],
      true,
      true,
    ],
    ['Null MX', ['0 .'], ['0 .'], true, true],
    ['Null MX without its priority', ['.'], ['0 .'], true, true],
    ['Null MX where mail is taken', ['0 .'], ['10 mx.example.net'], false, false],
    ['an IDN host', ['10 mail.bücher.de'], ['10 mail.xn--bcher-kva.de'], true, true],
  ],
  NS: [
    ['the same servers', ['NS2.Example.net.', 'ns1.example.net'], ['ns1.example.net', 'ns2.example.net'], true, true],
    ['one of three', ['ns1.example.net'], ['ns1.example.net', 'ns2.example.net', 'ns3.example.org'], false, true],
    ['moved elsewhere', ['ns1.example.net'], ['ns1.parking.example'], false, false],
  ],
  PTR: [
    ['the mail host', ['mail.example.com'], ['mail.example.com'], true, true],
    ['two names for one address', ['mail.example.com'], ['mail.example.com', 'www.example.com'], false, true],
    ['an RFC 2317 delegation name', ['5.0/25.2.0.192.in-addr.arpa'], ['5.0/25.2.0.192.in-addr.arpa'], true, true],
  ],
  TXT: [
    ['a verification token', ['google-site-verification=AbC'], ['google-site-verification=AbC'], true, true],
    [
      'a token in another letter case',
      ['google-site-verification=abc'],
      ['google-site-verification=AbC'],
      false,
      false,
    ],
    ['a token among others', ['token=1'], ['token=1', 'v=spf1 -all'], false, true],
    ['pasted quotes', ['"token=1"'], ['token=1'], true, true],
    ['a record that holds quotes, which is a mistake to notice', ['token=1'], ['"token=1"'], false, false],
    ['a record that must hold quotes', ['"\\"token=1\\""'], ['"token=1"'], true, true],
    ['UTF-8 in the DNS', ['caffè ☕'], ['caffè ☕'], true, true],
    ['UTF-8 as dig prints it', ['"caff\\195\\168"'], ['caffè'], true, true],
    ['octets that are no UTF-8', ['"a\\255b"'], ['a\\255b'], true, true],
    ['a semicolon escaped as in a zone file', ['"v=DMARC1\\; p=none"'], ['v=DMARC1; p=none'], true, true],
    ['an empty record', ['""'], [''], true, true],
    ['spaces inside a text', ['a  b'], ['a b'], false, false],
    ['DKIM in chunks', ['"v=DKIM1; k=rsa; p=MIIB" "IjANBg"'], ['v=DKIM1; k=rsa; p=MIIBIjANBg'], true, true],
    [
      'DKIM as opendkim-genkey prints it',
      ['( "v=DKIM1; k=rsa; "\n\t  "p=MIIBIjANBg" )'],
      ['v=DKIM1; k=rsa; p=MIIBIjANBg'],
      true,
      true,
    ],
    ['DKIM with a folded key', ['v=DKIM1; p=MIIB IjAN Bg'], ['v=DKIM1; k=rsa; p=MIIBIjANBg'], false, true],
    ['DKIM with another key', ['v=DKIM1; p=MIIBIjANBg'], ['v=DKIM1; p=MIIBIjANBh'], false, false],
    ['DKIM with a key in another letter case', ['v=DKIM1; p=miibijanbg'], ['v=DKIM1; p=MIIBIjANBg'], false, false],
    ['DKIM without its default tags', ['v=DKIM1; k=rsa; p=MIIB'], ['p=MIIB'], false, true],
    ['DKIM without a version', ['v=DKIM1; k=rsa; p=MIIB'], ['k=rsa; p=MIIB'], false, true],
    ['DKIM without a key type', ['v=DKIM1; k=rsa; p=MIIB'], ['v=DKIM1; p=MIIB'], false, true],
    ['DKIM without spaces', ['v=DKIM1; k=rsa; p=MIIB'], ['v=DKIM1;k=rsa;p=MIIB'], false, true],
    ['DKIM expected without a version', ['k=rsa; p=MIIB'], ['v=DKIM1; p=MIIB'], false, true],
    ['DKIM for every service', ['v=DKIM1; s=*; t=; p=MIIB'], ['v=DKIM1; p=MIIB'], false, true],
    ['DKIM with flags in another order', ['v=DKIM1; t=y:s; p=MIIB'], ['v=DKIM1; t=s : y; p=MIIB'], false, true],
    ['DKIM with another key type', ['v=DKIM1; k=rsa; p=MIIB'], ['v=DKIM1; k=ed25519; p=MIIB'], false, false],
    ['DKIM with a version that is not first', ['v=DKIM1; p=MIIB'], ['p=MIIB; v=DKIM1'], false, false],
    ['text with a tag p', ['p=MIIB; x=1'], ['x=1; p=MIIB'], false, false],
    [
      'DMARC keywords in another letter case',
      ['v=DMARC1; p=reject; fo=1:d'],
      ['v=DMARC1; P=REJECT; fo=1 : D'],
      false,
      true,
    ],
    [
      'DMARC report addresses have letter case',
      ['v=DMARC1; rua=mailto:A@x.example'],
      ['v=DMARC1; rua=mailto:a@x.example'],
      false,
      false,
    ],
    ['DKIM revoked', ['v=DKIM1; p=MIIBIjANBg'], ['v=DKIM1; p='], false, false],
    ['DKIM tag names have letter case', ['v=DKIM1; P=MIIB'], ['v=DKIM1; p=MIIB'], false, false],
    [
      'DMARC tags in another order',
      ['v=DMARC1; rua=mailto:d@example.com; p=reject'],
      ['v=DMARC1;p=reject;rua=mailto:d@example.com'],
      false,
      true,
    ],
    ['DMARC tag names in another letter case', ['V=DMARC1; P=none'], ['v=DMARC1; p=none'], false, true],
    ['DMARC with tags more', ['v=DMARC1; p=reject'], ['v=DMARC1; p = reject ; pct=100;'], false, true],
    ['DMARC weakened', ['v=DMARC1; p=reject'], ['v=DMARC1; p=none'], false, false],
    ['DMARC with a policy that comes twice', ['v=DMARC1; p=reject'], ['v=DMARC1; p=none; p=reject'], false, false],
    ['DMARC not confused with a longer value', ['v=DMARC1; pct=10'], ['v=DMARC1; p=none; pct=100'], false, false],
    ['DMARC that does not begin with its version', ['v=DMARC1; p=none'], ['p=none; v=DMARC1'], false, false],
    ['SPF by its parts', ['v=spf1 include:_spf.google.com'], ['v=spf1 mx include:_spf.google.com ~all'], false, true],
  ],
  SPF: [
    ['the same text', ['v=spf1 mx -all'], ['v=spf1 mx -all'], true, true],
    ['runs of spaces', ['v=spf1  mx   -all '], ['v=spf1 mx  -all'], true, true],
    [
      'chunks of a zone file',
      ['"v=spf1 include:_spf." "google.com -all"'],
      ['v=spf1 include:_spf.google.com -all'],
      true,
      true,
    ],
    ['a record among other texts', ['v=spf1 -all'], ['token=1', 'v=spf1 -all', 'v=spf10 x'], true, true],
    [
      'another order',
      ['v=spf1 include:b.example include:a.example'],
      ['v=spf1 include:a.example include:b.example'],
      false,
      true,
    ],
    ['an include more', ['v=spf1 include:a.example'], ['v=spf1 include:b.example include:a.example -all'], false, true],
    [
      'an include less',
      ['v=spf1 include:a.example include:b.example'],
      ['v=spf1 include:a.example -all'],
      false,
      false,
    ],
    ['the default qualifier', ['v=spf1 +mx ip4:192.0.2.1'], ['v=spf1 mx +ip4:192.0.2.1/32 -all'], false, true],
    ['another qualifier', ['v=spf1 -all'], ['v=spf1 ~all'], false, false],
    ['another letter case', ['v=spf1 include:_SPF.Google.com'], ['V=SPF1 INCLUDE:_spf.google.com -ALL'], false, true],
    ['another IPv6 spelling', ['v=spf1 ip6:2001:DB8:0::/32'], ['v=spf1 ip6:2001:db8::/32 -all'], false, true],
    ['a modifier', ['v=spf1 redirect=_spf.example.net'], ['v=spf1 redirect=_spf.example.net'], true, true],
    ['a macro in another letter case', ['v=spf1 exists:%{S}.example'], ['v=spf1 exists:%{s}.example'], false, false],
    ['the version alone', ['v=spf1'], ['v=spf1 -all'], false, true],
  ],
  CAA: [
    ['flags, tag and value', ['0 issue "letsencrypt.org"'], ['0 issue "letsencrypt.org"'], true, true],
    ['no flags means 0 or any', ['issue letsencrypt.org'], ['0 issue "letsencrypt.org"'], true, true],
    [
      'a critical record and no flags stated',
      ['issue "letsencrypt.org"'],
      ['128 issue "letsencrypt.org"'],
      false,
      true,
    ],
    [
      'a critical record and flags stated',
      ['0 issue "letsencrypt.org"'],
      ['128 issue "letsencrypt.org"'],
      false,
      false,
    ],
    [
      'another issuer more',
      ['issue "letsencrypt.org"'],
      ['0 issue "letsencrypt.org"', '0 issue "pki.goog"'],
      false,
      true,
    ],
    ['another tag', ['issuewild "letsencrypt.org"'], ['0 issue "letsencrypt.org"'], false, false],
    [
      'issuewild with parameters',
      ['0 IssueWild "LetsEncrypt.org;validationmethods=dns-01 ; accounturi=https://a.example/Acct/1"'],
      ['0 issuewild "letsencrypt.org; accounturi=https://a.example/Acct/1; validationmethods=dns-01"'],
      true,
      true,
    ],
    [
      'another account, different in letter case alone',
      ['0 issue "ca.example; accounturi=https://a.example/acct/1"'],
      ['0 issue "ca.example; accounturi=https://a.example/Acct/1"'],
      false,
      false,
    ],
    ['nobody may issue', ['0 issue ";"'], ['0 issue ""'], true, true],
    [
      'a report address keeps its letter case',
      ['0 iodef "mailto:CA@example.com"'],
      ['0 iodef "mailto:ca@example.com"'],
      false,
      false,
    ],
    ['an IDN issuer', ['issue "bücher.example"'], ['0 issue "xn--bcher-kva.example"'], true, true],
    ['octets outside ASCII', ['0 contact "ü"'], ['0 contact "\\195\\188"'], true, true],
  ],
}

for (const [recordType, cases] of Object.entries(CASES) as [MonitorRecordType, Case[]][]) {
  describe(recordType, () => {
    test.each(cases)('%s', (_, expected, records, exact, flexible) => {
      expect({ exact: outcome(recordType, expected, records, true) }).toEqual({ exact })
      expect({ flexible: outcome(recordType, expected, records, false) }).toEqual({ flexible })
    })
  })
}

describe('CNAME', () => {
  const chain: CnameChain = [
    { name: 'shop.provider.example', target: 'edge.cdn.example', ttl: 60 },
    { name: 'edge.cdn.example', target: 'pop7.cdn.example', ttl: 60 },
  ]
  test.each<[string, string[], boolean, boolean]>([
    ['the first target', ['Shop.Provider.example.'], true, true],
    ['a name further on the chain', ['edge.cdn.example'], false, true],
    ['the end of the chain', ['pop7.cdn.example'], false, true],
    ['a name that is not on the chain', ['shop.other.example'], false, false],
  ])('%s', (_, expected, exact, flexible) => {
    expect({ exact: outcome('CNAME', expected, ['shop.provider.example'], true, chain) }).toEqual({ exact })
    expect({ flexible: outcome('CNAME', expected, ['shop.provider.example'], false, chain) }).toEqual({ flexible })
  })

  test('a flexible expectation can have two names of the chain', () => {
    const expected = ['shop.provider.example', 'pop7.cdn.example']
    expect(outcome('CNAME', expected, ['shop.provider.example'], false, chain)).toBe(true)
  })

  test('observes only the first target', () => {
    expect(recordTypeOf('CNAME').observe(answer('CNAME', ['shop.provider.example'], chain))).toEqual([
      'shop.provider.example',
    ])
  })
})

test('SPF observes only the SPF records', () => {
  const records = ['token=1', 'V=SPF1', 'v=spf1 -all', 'v=spf10', ' v=spf1']
  expect(recordTypeOf('SPF').observe(answer('SPF', records))).toEqual(['V=SPF1', 'v=spf1 -all'])
})

test('the difference has missing values and, in exact mode, extra values', () => {
  const { difference } = recordTypeOf('MX')
  const observed = ['10 a.example', '20 b.example']
  expect(difference(['a.example', '5 c.example'], observed, true, [])).toEqual({
    missing: ['5 c.example'],
    extra: ['20 b.example'],
  })
  expect(difference(['a.example', '5 c.example'], observed, false, [])).toEqual({ missing: ['5 c.example'], extra: [] })
})

function outcome(
  type: MonitorRecordType,
  expected: string[],
  records: string[],
  isExactMatch: boolean,
  chain: CnameChain = [],
) {
  const parsed = parseExpectedValues(expected, type, isExactMatch)
  if (!parsed.ok) return 'refused'
  const matcher = recordTypeOf(type)
  return isMatch(matcher.difference(parsed.values, matcher.observe(answer(type, records, chain)), isExactMatch, chain))
}

function answer(type: MonitorRecordType, values: string[], chain: CnameChain = []): Answer {
  const { queryType } = recordTypeOf(type)
  return { kind: 'answer', rrset: { name: 'www.example.com', type: queryType, ttl: 60, values }, chain }
}
