import type { MonitorState } from '#contract/monitors.ts'
import type { MonitorRecordType } from '#contract/record-types.ts'
import type { QuestionType } from '#server/dns/outcome.ts'

/**
 * The monitors of the showcase: records of every kind in every state, as a small agency would have them. `answer` are the
 * live records; without it the name does not exist. `past` are changes, oldest first; the last one led to the current state.
 */
export type ShowcaseMonitor = {
  name: string
  type: MonitorRecordType
  expected: string[]
  group?: string
  isExact?: boolean
  answer?: [type: QuestionType, values: string[]]
  fault?: 'servfail' | 'silent'
  past?: [hoursAgo: number, state: MonitorState, values?: string[]][]
}

const WEB = ['203.0.113.10', '203.0.113.11']

export const SHOWCASE_MONITORS: readonly ShowcaseMonitor[] = [
  {
    name: 'www.northwind.example',
    type: 'A',
    expected: WEB,
    group: 'Northwind',
    answer: ['A', WEB],
    past: [
      [1_900, 'VALID', WEB],
      [260, 'MISMATCH', ['198.51.100.66']],
      [257.5, 'VALID', WEB],
      [61, 'TIMEOUT'],
      [60.6, 'VALID', WEB],
    ],
  },
  {
    name: 'northwind.example',
    type: 'MX',
    expected: ['10 mx1.mail.example', '20 mx2.mail.example'],
    group: 'Northwind',
    answer: ['MX', ['10 mx1.mail.example', '20 mx2.mail.example']],
  },
  {
    name: 'northwind.example',
    type: 'SPF',
    expected: ['v=spf1 include:_spf.mail.example -all'],
    group: 'Northwind',
    answer: ['TXT', ['v=spf1 include:_spf.mail.example ~all']],
    past: [
      [900, 'VALID', ['v=spf1 include:_spf.mail.example -all']],
      [3.2, 'MISMATCH', ['v=spf1 include:_spf.mail.example ~all']],
    ],
  },
  {
    name: '_dmarc.northwind.example',
    type: 'TXT',
    expected: ['v=DMARC1; p=reject'],
    isExact: false,
    group: 'Northwind',
    answer: ['TXT', ['v=DMARC1; p=reject; rua=mailto:dmarc@northwind.example']],
  },
  {
    name: 'northwind.example',
    type: 'CAA',
    expected: ['0 issue "ca.example"'],
    group: 'Northwind',
    answer: ['CAA', ['0 issue "ca.example"']],
  },
  {
    name: 'status.harbor.example',
    type: 'CNAME',
    expected: ['status.pages.example'],
    group: 'Customer domains',
    answer: ['CNAME', ['status.pages.example']],
  },
  {
    name: 'shop.harbor.example',
    type: 'CNAME',
    expected: ['stores.pages.example'],
    group: 'Customer domains',
    answer: ['CNAME', ['old-shop.hosting.example']],
    past: [
      [700, 'NOT_FOUND', []],
      [690, 'VALID', ['stores.pages.example']],
      [21, 'MISMATCH', ['old-shop.hosting.example']],
    ],
  },
  {
    name: 'docs.lumen.example',
    type: 'CNAME',
    expected: ['docs.pages.example'],
    group: 'Customer domains',
    past: [[30, 'NOT_FOUND', []]],
  },
  {
    name: 'app.lumen.example',
    type: 'CNAME',
    expected: ['app.pages.example'],
    group: 'Customer domains',
    past: [[30, 'NOT_FOUND', []]],
  },
  {
    name: 'www.orchard.example',
    type: 'A',
    expected: ['192.0.2.44'],
    group: 'Customer domains',
    answer: ['A', ['192.0.2.44', '198.51.100.7']],
    past: [
      [2_000, 'VALID', ['192.0.2.44']],
      [0.4, 'MISMATCH', ['192.0.2.44', '198.51.100.7']],
    ],
  },
  {
    name: 'www.orchard.example',
    type: 'AAAA',
    expected: ['2001:db8:44::1'],
    group: 'Customer domains',
    answer: ['A', ['192.0.2.44', '198.51.100.7']],
    past: [
      [2_000, 'VALID', ['2001:db8:44::1']],
      [5, 'NO_DATA', []],
    ],
  },
  {
    name: 'orchard.example',
    type: 'NS',
    expected: ['ns1.dns.example', 'ns2.dns.example'],
    group: 'Customer domains',
    answer: ['NS', ['ns1.dns.example', 'ns2.dns.example']],
  },
  {
    name: 'api.quarry.example',
    type: 'A',
    expected: ['203.0.113.80'],
    fault: 'servfail',
    past: [
      [500, 'VALID', ['203.0.113.80']],
      [1.6, 'INVALID'],
    ],
  },
  { name: 'edge.quarry.example', type: 'A', expected: ['203.0.113.81'], answer: ['A', ['203.0.113.81']] },
  {
    name: 'loop.quarry.example',
    type: 'CNAME',
    expected: ['www.quarry.example'],
    isExact: false,
    answer: ['CNAME', ['loop2.quarry.example']],
    past: [[90, 'BAD_SETUP']],
  },
  {
    name: '10.113.0.203.in-addr.arpa',
    type: 'PTR',
    expected: ['www.northwind.example'],
    group: 'Northwind',
    answer: ['PTR', ['www.northwind.example']],
  },
  {
    name: 'mail._domainkey.northwind.example',
    type: 'TXT',
    expected: ['v=DKIM1; k=rsa; p=MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQC7'],
    isExact: false,
    group: 'Northwind',
    answer: ['TXT', ['v=DKIM1; k=rsa; p=MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQC7']],
  },
]

/** The targets of the names above, and records for other pages. */
export const OTHER_RECORDS: readonly [name: string, type: QuestionType, values: string[]][] = [
  ['loop2.quarry.example', 'CNAME', ['loop.quarry.example']],
  ['status.pages.example', 'A', ['203.0.113.20']],
  ['old-shop.hosting.example', 'A', ['198.51.100.9']],
  // For the page of a new monitor, and for what is discovered of a domain.
  ['fresh.example', 'A', ['192.0.2.200']],
  ['fresh.example', 'MX', ['10 mx1.mail.example']],
  ['fresh.example', 'TXT', ['v=spf1 include:_spf.mail.example -all', 'site-verification=8f3a']],
  ['fresh.example', 'NS', ['ns1.dns.example', 'ns2.dns.example']],
  ['www.fresh.example', 'CNAME', ['fresh.example']],
  ['_dmarc.fresh.example', 'TXT', ['v=DMARC1; p=none']],
]
