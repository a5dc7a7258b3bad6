import type { NewMonitor } from '#contract/monitors.ts'
import { flagsOf } from './faults.ts'
import { ADDRESS, type Lab, NAME } from './lab.ts'
import { encodeResponse, renamed } from './raw-responses.ts'
import type { Scenario } from './scenario.ts'

const chainOf =
  (length: number) =>
  ({ set, remove }: Lab) => {
    remove(NAME, 'A')
    const nameAt = (index: number) => (index === 0 ? NAME : `n${index}.example.test`)
    for (let at = 0; at < length; at++) set(nameAt(at), 'CNAME', [nameAt(at + 1)])
    set(nameAt(length), 'A', [ADDRESS])
  }

const monitorOf = (
  record_type: NewMonitor['record_type'],
  expected_value: string[],
  more: Partial<NewMonitor> = {},
) => ({
  monitor: { record_type, expected_value, ...more },
})

const TRUNCATED = 0x0200

const MANY = Array.from({ length: 900 }, (_, index) => `10.0.${index >> 8}.${index & 255}`).sort()
const ZONE_CDN = 'edge.cdn.test'

/** Every real change is reported once, and an equivalent answer is no change. */
export const RECORD_SCENARIOS: Scenario[] = [
  {
    name: 'another address',
    fault: ({ set }) => set(NAME, 'A', ['192.0.2.9']),
    becomes: 'MISMATCH',
    values: ['192.0.2.9'],
  },
  {
    name: 'one more address',
    fault: ({ set }) => set(NAME, 'A', [ADDRESS, '192.0.2.9']),
    becomes: 'MISMATCH',
    values: [ADDRESS, '192.0.2.9'],
    diagnosisContains: "The zone's name servers ns1.example.test and ns2.example.test agreed",
  },
  { name: 'the name disappears', fault: ({ remove }) => remove(NAME, 'A'), becomes: 'NOT_FOUND', values: [] },
  { name: 'the records disappear', fault: ({ set }) => set(NAME, 'A', []), becomes: 'NO_DATA', values: [] },
  {
    name: 'an empty non-terminal remains',
    fault: ({ remove, set }) => {
      remove(NAME, 'A')
      set(`below.${NAME}`, 'TXT', ['x'])
    },
    becomes: 'NO_DATA',
    values: [],
  },
  {
    name: 'a wildcard has the same record',
    fault: ({ remove, set }) => {
      remove(NAME, 'A')
      set('*.example.test', 'A', [ADDRESS])
    },
    becomes: 'VALID',
  },
  {
    name: 'a wildcard has another record',
    fault: ({ remove, set }) => {
      remove(NAME, 'A')
      set('*.example.test', 'A', ['192.0.2.10'])
    },
    becomes: 'MISMATCH',
    values: ['192.0.2.10'],
  },
  { name: 'a CNAME to the same address', fault: chainOf(1), becomes: 'VALID' },
  { name: 'a chain of 16 CNAMEs', fault: chainOf(16), becomes: 'VALID' },
  { name: 'a chain of 17 CNAMEs', fault: chainOf(17), becomes: 'BAD_SETUP', diagnosisContains: 'is too long' },
  {
    name: 'a CNAME loop',
    fault: ({ remove, set }) => {
      remove(NAME, 'A')
      set(NAME, 'CNAME', ['loop.example.test'])
      set('loop.example.test', 'CNAME', [NAME])
    },
    becomes: 'BAD_SETUP',
    diagnosisContains: 'CNAME loop at',
  },
  {
    name: 'a CNAME to itself',
    fault: ({ remove, set }) => {
      remove(NAME, 'A')
      set(NAME, 'CNAME', [NAME])
    },
    becomes: 'BAD_SETUP',
  },
  {
    name: 'a CNAME loop that recursive servers answer with SERVFAIL',
    fault: ({ remove, set, resolvers }) => {
      remove(NAME, 'A')
      set(NAME, 'CNAME', ['loop.example.test'])
      set('loop.example.test', 'CNAME', [NAME])
      for (const server of resolvers) server.fail(NAME, 'SERVFAIL')
    },
    becomes: 'BAD_SETUP',
  },
  {
    name: 'a CNAME to another zone with the same address',
    fault: ({ remove, set }) => {
      remove(NAME, 'A')
      set(NAME, 'CNAME', [ZONE_CDN])
    },
    becomes: 'VALID',
  },
  {
    name: 'a CNAME to another zone, where the address changes',
    fault: ({ remove, set, cdn, resolvers }) => {
      remove(NAME, 'A')
      set(NAME, 'CNAME', [ZONE_CDN])
      for (const server of [cdn, ...resolvers]) server.set(ZONE_CDN, 'A', ['192.0.2.11'])
    },
    becomes: 'MISMATCH',
    values: ['192.0.2.11'],
  },
  {
    name: 'a CNAME to another zone whose servers lie about the target',
    fault: ({ remove, set, zone }) => {
      remove(NAME, 'A')
      set(NAME, 'CNAME', [ZONE_CDN])
      for (const server of zone) {
        server.followCnames()
        server.set(ZONE_CDN, 'A', ['203.0.113.66'])
      }
    },
    becomes: 'VALID',
  },
  {
    name: 'a DNAME redirects the whole zone',
    lab: { roots: false },
    fault: ({ resolvers }) => {
      for (const server of resolvers) server.respond(NAME, (query) => renamed(query, 0x8180))
    },
    becomes: 'MISMATCH',
    values: ['203.0.113.66'],
  },
  {
    name: 'a CNAME to a name without records',
    fault: ({ remove, set }) => {
      remove(NAME, 'A')
      set(NAME, 'CNAME', ['gone.cdn.test'])
    },
    becomes: 'NOT_FOUND',
    diagnosisContains: 'points to gone.cdn.test (CNAME)',
  },
  { name: 'hundreds of addresses', fault: ({ set }) => set(NAME, 'A', MANY), becomes: 'MISMATCH', values: MANY },
  {
    name: 'the order of several addresses is no change',
    ...monitorOf('A', [ADDRESS, '192.0.2.2']),
    before: ({ set }) => set(NAME, 'A', [ADDRESS, '192.0.2.2']),
    fault: ({ set }) => set(NAME, 'A', ['192.0.2.2', ADDRESS]),
    becomes: 'VALID',
  },
  {
    name: 'one more mail server',
    ...monitorOf('MX', ['10 mail.example.test']),
    before: ({ set }) => set(NAME, 'MX', ['10 mail.example.test']),
    fault: ({ set }) => set(NAME, 'MX', ['10 mail.example.test', '20 backup.example.test']),
    becomes: 'MISMATCH',
  },
  {
    name: 'a text of thousands of characters',
    ...monitorOf('TXT', ['hello']),
    before: ({ set }) => set(NAME, 'TXT', ['hello']),
    fault: ({ set }) => set(NAME, 'TXT', ['hello', 'x'.repeat(9_000)]),
    becomes: 'MISMATCH',
  },
  {
    name: 'a second SPF record',
    ...monitorOf('SPF', ['v=spf1 -all']),
    before: ({ set }) => set(NAME, 'TXT', ['v=spf1 -all']),
    fault: ({ set }) => set(NAME, 'TXT', ['v=spf1 -all', 'v=spf1 mx -all']),
    becomes: 'BAD_SETUP',
  },
  {
    name: 'another TXT record next to the SPF record is no change',
    ...monitorOf('SPF', ['v=spf1 -all']),
    before: ({ set }) => set(NAME, 'TXT', ['v=spf1 -all']),
    fault: ({ set }) => set(NAME, 'TXT', ['v=spf1 -all', 'site-verification=1']),
    becomes: 'VALID',
  },
  {
    name: 'another CNAME target',
    ...monitorOf('CNAME', [ZONE_CDN]),
    before: ({ set, remove }) => {
      remove(NAME, 'A')
      set(NAME, 'CNAME', [ZONE_CDN])
    },
    fault: ({ set }) => set(NAME, 'CNAME', ['other.cdn.test']),
    becomes: 'MISMATCH',
    values: ['other.cdn.test'],
  },
  {
    name: 'one more CNAME in the chain, for a flexible monitor',
    ...monitorOf('CNAME', [ZONE_CDN], { is_exact_match: false }),
    before: ({ set, remove }) => {
      remove(NAME, 'A')
      set(NAME, 'CNAME', [ZONE_CDN])
    },
    fault: ({ set }) => {
      set(NAME, 'CNAME', ['between.example.test'])
      set('between.example.test', 'CNAME', [ZONE_CDN])
    },
    becomes: 'VALID',
    events: 1, // the recorded first target changed
  },
  {
    name: 'the domain stops accepting mail (Null MX)',
    ...monitorOf('MX', ['10 mail.example.test']),
    before: ({ set }) => set(NAME, 'MX', ['10 mail.example.test']),
    fault: ({ set }) => set(NAME, 'MX', ['0 .']),
    becomes: 'MISMATCH',
    values: ['0 .'],
  },
  {
    name: 'more text than a DNS message can contain',
    ...monitorOf('TXT', ['hello']),
    before: ({ set }) => set(NAME, 'TXT', ['hello']),
    fault: ({ set }) =>
      set(
        NAME,
        'TXT',
        Array.from({ length: 70 }, (_, at) => `${at}${'x'.repeat(1_000)}`),
      ),
    becomes: 'INVALID',
    diagnosisContains: 'truncated over TCP',
  },
  {
    name: 'an answer that is truncated over UDP, without an answer over TCP',
    fault: ({ allServers }) =>
      allServers.forEach((server) => {
        const truncated = (query: Buffer) => encodeResponse(query, flagsOf(server) | TRUNCATED, [])
        server.respond(NAME, (query, transport) => (transport === 'udp' ? truncated(query) : null))
      }),
    becomes: 'TIMEOUT',
    diagnosisContains: 'its answer is truncated over UDP, and no name server answers over TCP (timeout).',
    warns: ['name_servers_without_tcp'],
  },
  {
    name: 'an unknown critical property',
    ...monitorOf('CAA', ['issue "ca.test"'], { is_exact_match: false }),
    before: ({ set }) => set(NAME, 'CAA', ['0 issue "ca.test"']),
    fault: ({ set }) => set(NAME, 'CAA', ['128 tbs "unknown"']),
    becomes: 'MISMATCH',
    values: ['128 tbs "unknown"'],
  },
  {
    name: 'another certificate authority',
    ...monitorOf('CAA', ['0 issue "ca.test"']),
    before: ({ set }) => set(NAME, 'CAA', ['0 issue "ca.test"']),
    fault: ({ set }) => set(NAME, 'CAA', ['0 issue "other.test"']),
    becomes: 'MISMATCH',
  },
]
