import { ADDRESS, NAME } from './lab.ts'
import { encodeResponse, isAddressQuery, stale } from './raw-responses.ts'
import type { Scenario } from './scenario.ts'

const LINK = 'edge.link.cdn.test'
const ANSWERED = 0x8180
const AUTHORITATIVE = 0x8580

const linked: NonNullable<Scenario['before']> = (lab) => {
  lab.remove(NAME, 'A')
  lab.set(NAME, 'CNAME', [LINK])
  lab.cdn.set(LINK, 'A', ['198.51.100.1'])
  for (const server of lab.resolvers) {
    server.set('cdn.test', 'NS', ['ns.cdn.test'])
    server.set('link.cdn.test', 'NS', ['dc1.internal'])
    server.set(LINK, 'A', [ADDRESS])
  }
}

/** Recursive servers that see other records than the zone has. */
export const RESOLVER_SCENARIOS: Scenario[] = [
  {
    name: 'a CNAME to a zone that only the recursive servers see differently',
    before: linked,
    fault: ({ resolvers }) => resolvers.forEach((server) => void server.set(LINK, 'A', ['10.0.0.6'])),
    becomes: 'MISMATCH',
    values: ['10.0.0.6'],
    diagnosisContains: 'split horizon',
  },
  {
    name: 'the NS records of the zone differ from its delegation, and the only recursive server is out of date',
    lab: { resolvers: 1 },
    before: ({ set }) => set('example.test', 'NS', ['ns1.of-the-child.test', 'ns2.of-the-child.test']),
    fault: ({ resolvers }) => resolvers[0]!.set(NAME, 'A', ['203.0.113.66']),
    becomes: 'VALID',
  },
  {
    name: 'split horizon: the internal zone fails, and the public one has another address',
    before: ({ resolvers, zone }) => {
      for (const server of resolvers) server.set('example.test', 'NS', ['dc1.internal', 'dc2.internal'])
      for (const server of zone) server.set(NAME, 'A', ['198.51.100.20'])
    },
    fault: ({ resolvers }) => resolvers.forEach((server) => void server.fail(NAME, 'SERVFAIL')),
    becomes: 'INVALID',
  },
  {
    name: 'recursive servers that report that they block the zone',
    fault: ({ resolvers }) => {
      for (const server of resolvers) {
        for (const name of [NAME, 'example.test']) server.fail(name, 'NXDOMAIN', { code: 15, text: 'Blocked' })
      }
    },
    becomes: 'VALID',
  },
  {
    name: 'a change while the recursive servers cannot reach the zone and mark their answers as stale',
    fault: ({ zone, resolvers }) => {
      for (const server of zone) server.set(NAME, 'A', ['192.0.2.20'])
      for (const server of resolvers) server.respond(NAME, (query) => stale(query, ANSWERED))
    },
    becomes: 'MISMATCH',
    values: ['192.0.2.20'],
  },
  {
    name: 'the zone is unreachable, and the recursive servers mark their answers as stale',
    fault: ({ zone, resolvers }) => {
      for (const server of zone) server.drop('*')
      for (const server of resolvers) server.respond(NAME, (query) => stale(query, ANSWERED))
    },
    checks: 2,
    becomes: 'VALID',
  },
  {
    name: 'a change that is reverted before it is confirmed',
    // Whichever server is asked first has the changed record, and from then on none has it.
    fault: ({ resolvers, allServers, set }) => {
      for (const server of allServers) {
        server.respond(NAME, (query) => {
          if (!isAddressQuery(query)) return 'zone'
          for (const each of allServers) each.recover(NAME)
          set(NAME, 'A', [ADDRESS])
          const flags = resolvers.includes(server) ? ANSWERED : AUTHORITATIVE
          return encodeResponse(query, flags, [Buffer.from('c00c000100010000003c0004c0000216', 'hex')])
        })
      }
    },
    becomes: 'VALID',
  },
]
