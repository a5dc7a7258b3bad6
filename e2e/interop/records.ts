import type { Watched } from './check.ts'
import { BIG_TEXTS, DKIM } from './zones/texts.ts'

/** What a monitor of each type and mode is to come to. */
export type Case = Watched & { state: 'VALID' | 'MISMATCH' }

const exact = (name: string, type: Watched['type'], valid: string[], mismatch: string[]): Case[] => [
  { name, type, expected: valid, flexible: false, state: 'VALID' },
  { name, type, expected: mismatch, flexible: false, state: 'MISMATCH' },
]
const flexible = (...all: Parameters<typeof exact>): Case[] => exact(...all).map((one) => ({ ...one, flexible: true }))

const SPF = 'v=spf1 include:_spf.other.test ip4:192.0.2.0/24 -all'
const CAA = ['0 issue "ca.test; account=42"', 'issuewild ";"', '128 iodef "mailto:caa@zone.test"']

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
  ...flexible('zone.test', 'CAA', ['iodef "mailto:caa@zone.test"'], ['0 iodef "mailto:caa@zone.test"']),
]

/** A monitor of every type in both modes for a name; what it expects does not matter where there are no records. */
export function everyMonitorOf(name: string): Watched[] {
  const expected: [Watched['type'], string][] = [
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
