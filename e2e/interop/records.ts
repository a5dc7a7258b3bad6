import type { MonitorInput } from './check.ts'
import { BIG_TEXTS, DKIM } from './zones/texts.ts'

/** A monitor and its expected state. */
export type Case = MonitorInput & { state: 'VALID' | 'MISMATCH' }

const exact = (name: string, type: MonitorInput['type'], valid: string[], mismatch: string[]): Case[] => [
  { name, type, expected: valid, flexible: false, state: 'VALID' },
  { name, type, expected: mismatch, flexible: false, state: 'MISMATCH' },
]
const flexible = (...input: Parameters<typeof exact>): Case[] =>
  exact(...input).map((exactCase) => ({ ...exactCase, flexible: true }))

const SPF = 'v=spf1 include:_spf.other.test ip4:192.0.2.0/24 -all'
const CAA = ['0 issue "ca.test; account=42"', 'issuewild ";"', '128 iodef "mailto:caa@zone.test"']

const DIGEST = '0c72ac70b745ac19998811b131d662c9ac69dbdbe7cb23e5b514b56664c5d3d6'
const FINGERPRINT = 'a87f1b687ac0e57d2a081a2f282672334d90ed316d2b818ca9580ea384d92401'
const HTTPS = '1 . key65400="a b" ipv4hint=192.0.2.10,192.0.2.11 alpn=h2,h3'
const SVCB = String.raw`1 mail.zone.test port=853 alpn="dot,f\\\\oo\\,bar" mandatory=port,alpn ech=AEX+DQBB`
const DS = '60485 5 2 d4b7d520e7bb5f0f67674a0cceb1e3e0614b93c4f9e99b8383f6a1e4469da50a'
const SOA = 'ns1.zone.test hostmaster.zone.test 1 3600 600'
const NAPTR = ['100 10 u E2U+sip "!^.*$!sip:info@zone.test!" .', '100 20 "" x "" mail.zone.test']

export const CASES: readonly Case[] = [
  ...exact('www.zone.test', 'A', ['192.0.2.11', '192.0.2.10'], ['192.0.2.10']),
  ...flexible('www.zone.test', 'A', ['192.0.2.10'], ['198.51.100.0/24']),
  ...flexible('www.zone.test', 'A', ['192.0.2.0/24'], ['192.0.2.12']),
  ...exact('alias1.zone.test', 'A', ['192.0.2.10', '192.0.2.11'], ['192.0.2.1']),
  ...exact('across.zone.test', 'A', ['192.0.2.10', '192.0.2.11'], ['192.0.2.1']),
  ...exact('long12.zone.test', 'A', ['192.0.2.60'], ['192.0.2.1']),
  ...exact('anything.wild.zone.test', 'A', ['192.0.2.40'], ['192.0.2.1']),
  ...exact('*.wild.zone.test', 'A', ['192.0.2.40'], ['192.0.2.1']),
  ...exact('bücher.zone.test', 'A', ['192.0.2.30'], ['192.0.2.1']),
  ...exact('WWW.Zone.Test.', 'AAAA', ['2001:DB8:0::10', '2001:db8:0:1::11'], ['2001:db8::10']),
  ...flexible('www.zone.test', 'AAAA', ['2001:db8:0:1::/64'], ['2001:db8:0:2::/64']),
  ...exact('alias1.zone.test', 'CNAME', ['alias2.zone.test'], ['www.zone.test']),
  ...flexible('alias1.zone.test', 'CNAME', ['www.zone.test'], ['mail.zone.test']),
  ...flexible('across.zone.test', 'CNAME', ['www.zone.test'], ['mail.zone.test']),
  ...exact('zone.test', 'MX', ['mail2.other.test', '10 mail.zone.test'], ['mail.zone.test']),
  ...flexible('zone.test', 'MX', ['10 mail.zone.test'], ['20 mail.zone.test']),
  ...exact('nomail.zone.test', 'MX', ['0 .'], ['10 mail.zone.test']),
  ...exact('anything.wild.zone.test', 'MX', ['10 mail.zone.test'], ['20 mail.zone.test']),
  ...exact('zone.test', 'TXT', [SPF, 'site-verification=AbC'], ['site-verification=AbC']),
  ...flexible('zone.test', 'TXT', ['site-verification=AbC'], ['site-verification=abc']),
  ...exact('s1._domainkey.zone.test', 'TXT', [DKIM], [DKIM.slice(0, 255)]),
  ...flexible('s1._domainkey.zone.test', 'TXT', ['v=DKIM1; k=rsa'], ['v=DKIM1; k=ed25519']),
  ...flexible('_dmarc.zone.test', 'TXT', ['v=DMARC1;p=reject'], ['v=DMARC1; p=none']),
  ...exact('utf8.zone.test', 'TXT', ['grüße 😀 "quoted" \\ back'], ['gruesse']),
  ...exact('octets.zone.test', 'TXT', ['"\\255\\254end"'], ['"\\255end"']),
  ...exact('big.zone.test', 'TXT', BIG_TEXTS, BIG_TEXTS.slice(1)),
  ...exact('zone.test', 'NS', ['ns1.zone.test', 'ns2.zone.test'], ['ns1.zone.test']),
  ...flexible('zone.test', 'NS', ['NS2.zone.test.'], ['ns3.zone.test']),
  ...exact('192.0.2.10', 'PTR', ['www.zone.test'], ['mail.zone.test']),
  ...exact('192.0.2.25', 'PTR', ['mail.zone.test'], ['www.zone.test']),
  ...exact('25.0/26.2.0.192.in-addr.arpa', 'PTR', ['mail.zone.test'], ['www.zone.test']),
  ...flexible('2001:db8::10', 'PTR', ['www.zone.test'], ['mail.zone.test']),
  ...exact('zone.test', 'SPF', [SPF.replace(' ', '  ')], ['v=spf1 -all']),
  ...flexible('zone.test', 'SPF', ['v=spf1 include:_spf.other.test'], ['v=spf1 ~all']),
  ...exact('zone.test', 'CAA', CAA, CAA.slice(1)),
  ...exact('_sip._tcp.zone.test', 'SRV', ['10 5 5060 mail.zone.test'], ['10 5 5061 mail.zone.test']),
  ...flexible('_sip._tcp.zone.test', 'SRV', ['* * 5060 mail.zone.test'], ['* * 5060 www.zone.test']),
  ...exact('_443._tcp.www.zone.test', 'TLSA', [`DANE-EE SPKI SHA2-256 ${DIGEST}`], [`2 1 1 ${DIGEST}`]),
  ...flexible('_443._tcp.www.zone.test', 'TLSA', ['3 1 1 *'], ['3 1 2 *']),
  ...exact('mail.zone.test', 'SSHFP', [`4 2 ${FINGERPRINT}`], [`1 2 ${FINGERPRINT}`]),
  ...exact('www.zone.test', 'HTTPS', [HTTPS], ['1 . alpn=h2,h3']),
  ...flexible('www.zone.test', 'HTTPS', ['* . alpn=h2'], ['* . alpn=h4']),
  ...exact('apex.zone.test', 'HTTPS', ['0 www.zone.test'], ['0 zone.test']),
  ...exact('_dns.zone.test', 'SVCB', [SVCB], ['1 mail.zone.test alpn=dot port=853']),
  ...exact('secure.zone.test', 'DS', [DS], [DS.replace('60485', '60486')]),
  ...exact('zone.test', 'SOA', ['ns1.zone.test hostmaster@zone.test 1 1h 10m 1d 5m'], [`${SOA} 300 300`]),
  ...flexible('zone.test', 'SOA', ['ns1.zone.test * * 3600 600 86400 *'], ['ns2.zone.test * * * * * *']),
  ...exact('enum.zone.test', 'NAPTR', NAPTR, NAPTR.slice(1)),
  ...flexible('enum.zone.test', 'NAPTR', ['* * U E2U+sip * .'], ['* * S E2U+sip * .']),
  ...flexible('zone.test', 'CAA', ['iodef "mailto:caa@zone.test"'], ['0 iodef "mailto:caa@zone.test"']),
]

/** A monitor of every type in both modes, for names without records. */
export function monitorsOfEveryType(name: string): MonitorInput[] {
  const expected: [MonitorInput['type'], string][] = [
    ['A', '192.0.2.1'],
    ['AAAA', '2001:db8::1'],
    ['CNAME', 'www.zone.test'],
    ['MX', '10 mail.zone.test'],
    ['TXT', 'text'],
    ['NS', 'ns1.zone.test'],
    ['PTR', 'www.zone.test'],
    ['SPF', 'v=spf1 -all'],
    ['CAA', '0 issue "ca.test"'],
  ]
  return [false, true].flatMap((flexible) =>
    expected.map(([type, value]) => ({ name, type, expected: value, flexible })),
  )
}
