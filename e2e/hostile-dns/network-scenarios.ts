import type { DnsServer } from '#server/testing/dns-server.ts'
import { ADDRESS, CANARY, type Lab, NAME } from './lab.ts'
import { CORRECT, captive, encodeResponse, isAddressQuery } from './raw-responses.ts'
import type { Scenario } from './scenario.ts'

const remoteServers = ({ root, tld, zone, cdn }: Lab) => [root, tld, ...zone, cdn]
const everyServer = (lab: Lab) => [...remoteServers(lab), ...lab.resolvers]
const cutOff = (lab: Lab) => everyServer(lab).forEach((server) => void server.drop('*'))
const block = (lab: Lab) => remoteServers(lab).forEach((server) => void server.drop('*'))
const bogus = ({ resolvers }: Lab) => {
  for (const server of resolvers) server.validate(NAME, { code: 7, text: 'signature expired' })
}

/** A recursive server that answers for the root zone, with the AD bit if it validates. */
const givenValidating = (server: DnsServer, validates: boolean) => {
  server.set('', 'NS', ['a.root.test'])
  if (validates) server.authenticate('')
}

const chainOf = (length: number) => [NAME, ...Array.from({ length }, (_, index) => `n${index + 1}.example.test`)]
/** Answers CNAME queries for each name of a chain, and address queries with SERVFAIL. */
const failAddressesOfChain = (names: string[]) => (server: DnsServer) => {
  server.remove(NAME, 'A')
  server.failType('A', 'SERVFAIL')
  for (const [at, target] of names.slice(1).entries()) server.set(names[at]!, 'CNAME', [target])
}

const RECURSIVE_FLAGS = 0x8180
const AUTHORITATIVE_FLAGS = 0x8580
const SERVFAIL = 2

const isCheckingDisabled = (query: Buffer) => (query.readUInt16BE(2) & 0x0010) !== 0

/** Answers the first `times` address queries without CD with SERVFAIL. */
const failValidation = (server: DnsServer, times: number) => {
  let failed = 0
  server.respond(NAME, (query) => {
    if (!isAddressQuery(query)) return encodeResponse(query, RECURSIVE_FLAGS, [])
    const fails = !isCheckingDisabled(query) && failed++ < times
    return fails
      ? encodeResponse(query, RECURSIVE_FLAGS, [], SERVFAIL)
      : encodeResponse(query, RECURSIVE_FLAGS, [CORRECT])
  })
}

/** The parent zone has DS records for the zone. */
function signZone({ tld }: Lab): void {
  tld.set('example.test', 'DS', [`\\# 36 30390d02${'ab'.repeat(32)}`])
}

/** Faults of the local network, interception, split horizon and DNSSEC. */
export const NETWORK_SCENARIOS: Scenario[] = [
  { name: 'the network of Zonewatch is down', lab: { canaries: true }, fault: cutOff, becomes: 'VALID' },
  {
    name: 'the network of Zonewatch is down, without roots',
    lab: { canaries: true, roots: false },
    fault: cutOff,
    becomes: 'VALID',
  },
  {
    name: 'the recursive servers lost their upstream network',
    lab: { canaries: true },
    fault: ({ resolvers }) => resolvers.forEach((server) => void server.fail('*', 'SERVFAIL')),
    becomes: 'VALID',
  },
  {
    name: 'the zone is unreachable while the canary resolves',
    lab: { canaries: true },
    fault: ({ zone, resolvers }) => {
      for (const server of zone) server.drop('*')
      for (const server of resolvers) server.fail(NAME, 'SERVFAIL')
    },
    becomes: 'INVALID',
  },
  {
    name: 'only the canary is unreachable',
    lab: { canaries: true },
    fault: ({ resolvers, set }) => {
      for (const server of resolvers) server.fail('canary.test', 'SERVFAIL')
      set(NAME, 'A', ['192.0.2.13'])
    },
    becomes: 'MISMATCH',
  },
  ...([RECURSIVE_FLAGS, AUTHORITATIVE_FLAGS] as const).flatMap((flags): Scenario[] => [
    {
      name: `a network that has one address for every name${flags === AUTHORITATIVE_FLAGS ? ', with authority' : ''}`,
      lab: { canaries: true },
      fault: (lab) => everyServer(lab).forEach((server) => void server.respond('*', (query) => captive(query, flags))),
      becomes: 'VALID',
    },
    {
      name: `a network that has one address for every name, and no mail server${flags === AUTHORITATIVE_FLAGS ? ', with authority' : ''}`,
      lab: { canaries: true },
      monitor: { record_type: 'MX', expected_value: ['10 mail.example.test'] },
      before: ({ set }) => set(NAME, 'MX', ['10 mail.example.test']),
      fault: (lab) => everyServer(lab).forEach((server) => void server.respond('*', (query) => captive(query, flags))),
      becomes: 'VALID',
    },
  ]),
  {
    name: 'recursive servers that replace NXDOMAIN by an address are no captive network',
    lab: { canaries: true },
    fault: (lab) => {
      for (const server of lab.resolvers) server.set('*', 'A', ['203.0.113.80'])
      lab.set(NAME, 'A', ['192.0.2.21'])
    },
    becomes: 'MISMATCH',
    values: ['192.0.2.21'],
  },
  ...([true, false] as const).flatMap((roots): Scenario[] =>
    (['NXDOMAIN', 'NOERROR'] as const).map((rcode) => ({
      name: `a router without a line answers ${rcode} to everything${roots ? '' : ', without roots'}`,
      lab: { canaries: true, roots },
      fault: (lab) => {
        block(lab)
        for (const server of lab.resolvers) server.fail('*', rcode)
      },
      becomes: 'VALID',
    })),
  ),
  {
    name: 'a name disappears while the canary resolves, without roots',
    lab: { canaries: true, roots: false },
    fault: ({ remove }) => remove(NAME, 'A'),
    becomes: 'NOT_FOUND',
  },
  {
    name: 'the network of Zonewatch is down, and the canary comes from a stale cache',
    lab: { canaries: true },
    fault: (lab) => {
      block(lab)
      for (const server of lab.resolvers) {
        server.fail('*', 'SERVFAIL')
        server.fail(CANARY, 'NOERROR', { code: 3, text: 'Stale Answer' })
      }
    },
    becomes: 'VALID',
  },
  ...([true, false] as const).map(
    (roots): Scenario => ({
      name: `the network of Zonewatch is down, and the canary comes from a cache${roots ? '' : ', without roots'}`,
      lab: { canaries: true, roots },
      fault: (lab) => {
        block(lab)
        for (const server of lab.resolvers) {
          server.fail('*', 'SERVFAIL')
          server.delay(CANARY, 0) // answers as before
        }
      },
      becomes: 'VALID',
    }),
  ),
  {
    name: 'port 53 is blocked, and the record changes',
    before: block,
    fault: ({ set }) => set(NAME, 'A', ['192.0.2.14']),
    becomes: 'MISMATCH',
    diagnosisContains: 'A firewall may block port 53',
  },
  {
    name: 'port 53 is blocked, and one recursive server lies',
    before: block,
    fault: ({ resolvers }) => resolvers[0]!.set(NAME, 'A', ['203.0.113.66']),
    becomes: 'VALID',
  },
  {
    name: 'port 53 is intercepted, and the record changes',
    before: ({ root }) => root.fail('*', 'REFUSED'),
    fault: ({ set }) => set(NAME, 'A', ['192.0.2.15']),
    becomes: 'MISMATCH',
  },
  {
    name: 'split horizon: an internal zone with the same name',
    before: ({ resolvers, zone }) => {
      for (const server of resolvers) server.set('example.test', 'NS', ['dc1.internal', 'dc2.internal'])
      for (const server of zone) server.set(NAME, 'A', ['198.51.100.20'])
    },
    fault: ({ resolvers }) => resolvers.forEach((server) => void server.set(NAME, 'A', ['10.0.0.5'])),
    becomes: 'MISMATCH',
    values: ['10.0.0.5'],
    diagnosisContains: 'split horizon',
  },
  ...(['public', 'resolvers'] as const).map((resolution): Scenario => {
    const isPublic = resolution === 'public'
    return {
      name: `an internal zone with the same name, and a monitor of ${isPublic ? 'the public DNS' : 'the resolvers'}`,
      monitor: { resolution, expected_value: [isPublic ? '198.51.100.20' : ADDRESS] },
      before: ({ resolvers, zone }) => {
        for (const server of resolvers) server.set('example.test', 'NS', ['dc1.internal', 'dc2.internal'])
        for (const server of zone) server.set(NAME, 'A', ['198.51.100.20'])
      },
      fault: ({ resolvers, zone }) => {
        for (const server of isPublic ? zone : resolvers) server.set(NAME, 'A', ['198.51.100.21'])
      },
      becomes: 'MISMATCH',
      values: ['198.51.100.21'],
    }
  }),
  {
    name: 'split horizon: an internal name that is not public',
    before: ({ resolvers, zone }) => {
      for (const server of resolvers) server.set('example.test', 'NS', ['dc1.internal'])
      for (const server of zone) server.remove(NAME, 'A')
    },
    fault: ({ resolvers }) => resolvers.forEach((server) => void server.remove(NAME, 'A')),
    becomes: 'NOT_FOUND',
  },
  {
    name: 'split horizon: an internal zone below a public one',
    monitor: { full_domain: 'db.corp.example.test', expected_value: [ADDRESS] },
    before: ({ resolvers }) => {
      for (const server of resolvers) {
        server.set('corp.example.test', 'NS', ['dc1.internal'])
        server.set('db.corp.example.test', 'A', [ADDRESS])
      }
    },
    fault: ({ resolvers }) => resolvers.forEach((server) => void server.set('db.corp.example.test', 'A', ['10.0.0.6'])),
    becomes: 'MISMATCH',
    values: ['10.0.0.6'],
  },
  {
    name: 'a top-level domain that only the recursive servers know',
    monitor: { full_domain: 'nas.lan', expected_value: [ADDRESS] },
    before: ({ resolvers }) => resolvers.forEach((server) => void server.set('nas.lan', 'A', [ADDRESS])),
    fault: ({ resolvers }) => resolvers.forEach((server) => void server.set('nas.lan', 'A', ['10.0.0.7'])),
    becomes: 'MISMATCH',
    values: ['10.0.0.7'],
  },
  {
    name: 'an internal name that fails is not reported as nonexistent',
    monitor: { full_domain: 'nas.lan', expected_value: [ADDRESS] },
    before: ({ resolvers }) => resolvers.forEach((server) => void server.set('nas.lan', 'A', [ADDRESS])),
    fault: ({ resolvers }) => resolvers.forEach((server) => void server.fail('nas.lan', 'SERVFAIL')),
    becomes: 'INVALID',
  },
  {
    name: 'DNSSEC: the signatures have expired',
    before: signZone,
    fault: bogus,
    becomes: 'INVALID',
    diagnosisContains: 'fails DNSSEC validation',
  },
  {
    name: 'DNSSEC: the signatures have expired, without roots',
    lab: { roots: false },
    fault: bogus,
    becomes: 'INVALID',
    diagnosisContains: 'Signature Expired (EDE 7): signature expired',
  },
  ...([true, false] as const).map(
    (roots): Scenario => ({
      name: `DNSSEC: the signatures have expired, and one of two recursive servers does not validate${roots ? '' : ', without roots'}`,
      lab: { roots },
      before: (lab) => {
        signZone(lab)
        givenValidating(lab.resolvers[0]!, true)
      },
      fault: ({ resolvers }) => resolvers[0]!.validate(NAME, { code: 7, text: 'signature expired' }),
      becomes: 'INVALID',
      diagnosisContains: 'Signature Expired (EDE 7): signature expired',
    }),
  ),
  {
    name: 'DNSSEC: one of two recursive servers fails to validate anything',
    fault: ({ resolvers }) => {
      for (const name of [NAME, '.']) resolvers[0]!.validate(name, { code: 6, text: '' })
    },
    becomes: 'VALID',
  },
  {
    name: 'DNSSEC: one of two recursive servers fails, and the other one validates the records',
    before: ({ resolvers }) => resolvers.forEach((server) => void givenValidating(server, true)),
    fault: ({ resolvers }) => resolvers[0]!.validate(NAME, { code: 6, text: '' }),
    becomes: 'VALID',
  },
  {
    name: 'a briefly cached SERVFAIL is no DNSSEC failure',
    lab: { resolvers: 1 },
    fault: ({ resolvers }) => failValidation(resolvers[0]!, 2),
    becomes: 'VALID',
  },
  {
    name: 'DNSSEC: one RRset is forged, and the recursive server gives no reason',
    lab: { resolvers: 1 },
    before: signZone,
    fault: ({ resolvers }) => failValidation(resolvers[0]!, Number.POSITIVE_INFINITY),
    becomes: 'INVALID',
    diagnosisContains: 'fails DNSSEC validation',
  },
  {
    name: 'SERVFAIL from one of several caches is no DNSSEC failure of a zone that is not signed',
    lab: { resolvers: 1 },
    fault: ({ resolvers }) => failValidation(resolvers[0]!, Number.POSITIVE_INFINITY),
    becomes: 'VALID',
  },
  {
    name: 'without roots, a CNAME loop that recursive servers answer with SERVFAIL',
    lab: { roots: false },
    fault: ({ resolvers }) => resolvers.forEach(failAddressesOfChain([NAME, 'loop.example.test', NAME])),
    becomes: 'BAD_SETUP',
    diagnosisContains: 'CNAME loop at',
  },
  {
    name: 'without roots, a chain of 17 CNAMEs that recursive servers answer with SERVFAIL',
    lab: { roots: false },
    fault: ({ resolvers }) => resolvers.forEach(failAddressesOfChain(chainOf(17))),
    becomes: 'BAD_SETUP',
    diagnosisContains: 'is too long',
  },
  {
    name: 'without roots, SERVFAIL at the end of a short CNAME chain',
    lab: { roots: false },
    fault: ({ resolvers }) => resolvers.forEach(failAddressesOfChain(chainOf(16))),
    becomes: 'INVALID',
    diagnosisContains: 'SERVFAIL',
  },
  {
    name: 'each location gets its own constant answer',
    before: ({ resolvers }) => resolvers[0]!.set(NAME, 'A', ['198.51.100.31']),
    fault: ({ resolvers }) => resolvers[1]!.set(NAME, 'A', ['198.51.100.32']),
    becomes: 'VALID',
  },
]
