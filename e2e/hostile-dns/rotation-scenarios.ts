import type { DnsServer } from '#server/testing/dns-server.ts'
import { flagsOf } from './faults.ts'
import { ADDRESS, type Lab, NAME } from './lab.ts'
import { CORRECT, encodeResponse } from './raw-responses.ts'
import type { Scenario } from './scenario.ts'

const EDGE = 'edge.cdn.test'
const NXDOMAIN = 3
const addressesOf = (count: number) => Array.from({ length: count }, (_, at) => `192.0.2.${100 + at}`)

/** Answers each query with `size` random members. */
const rotate = ({ random }: Lab, servers: DnsServer[], members: string[], size: number) => {
  for (const server of servers) server.rotate(NAME, 'A', members, size, random)
}

/** Denies the name in three of ten responses, like one of several machines behind an address. */
const denySometimes = ({ random }: Lab, servers: DnsServer[], rcode: number) => {
  for (const server of servers) {
    const flags = flagsOf(server)
    server.respond(NAME, (query) =>
      random() < 0.3 ? encodeResponse(query, flags, [], rcode) : encodeResponse(query, flags, [CORRECT]),
    )
  }
}

/** All servers rotate the members, as with a TTL of zero and without caches. */
function pool(
  name: string,
  members: string[],
  size: number,
  more: Partial<Scenario> & Pick<Scenario, 'fault' | 'becomes'>,
) {
  return {
    name: `a pool of ${members.length}, ${size} at a time: ${name}`,
    monitor: { expected_value: members.slice(0, 10) },
    before: (lab: Lab) => rotate(lab, lab.allServers, members, size),
    // There may be events until all members were seen.
    warmUp: 40,
    checks: 8,
    ...more,
  } satisfies Scenario
}

const nothing = () => {}

export const ROTATION_SCENARIOS: Scenario[] = [
  pool('nothing happens', addressesOf(2), 1, { fault: nothing, becomes: 'VALID' }),
  pool('nothing happens', addressesOf(3), 2, { fault: nothing, becomes: 'VALID' }),
  pool('nothing happens', addressesOf(4), 2, { fault: nothing, becomes: 'VALID' }),
  pool('nothing happens', addressesOf(8), 1, { fault: nothing, becomes: 'VALID' }),
  pool('nothing happens', addressesOf(8), 4, { fault: nothing, becomes: 'VALID' }),
  pool('one member in flexible mode', addressesOf(6), 3, {
    fault: nothing,
    monitor: { expected_value: ['192.0.2.0/24'], is_exact_match: false },
    becomes: 'VALID',
  }),
  pool('one member is exchanged', addressesOf(3), 2, {
    fault: (lab) => rotate(lab, lab.allServers, ['192.0.2.100', '192.0.2.101', '203.0.113.66'], 2),
    becomes: 'MISMATCH',
    values: ['192.0.2.100', '192.0.2.101', '203.0.113.66'],
  }),
  pool('one member is gone', addressesOf(4), 2, {
    fault: (lab) => rotate(lab, lab.allServers, addressesOf(3), 2),
    becomes: 'MISMATCH',
    values: addressesOf(3),
  }),
  pool('all members are others', addressesOf(3), 1, {
    fault: (lab) => rotate(lab, lab.allServers, ['203.0.113.1', '203.0.113.2', '203.0.113.3'], 1),
    becomes: 'MISMATCH',
    values: ['203.0.113.1', '203.0.113.2', '203.0.113.3'],
  }),
  pool('the zone rotates, and caches keep what they got', addressesOf(4), 2, {
    before: (lab) => {
      rotate(lab, lab.zone, addressesOf(4), 2)
      lab.resolvers[0]!.set(NAME, 'A', addressesOf(2))
      lab.resolvers[1]!.set(NAME, 'A', addressesOf(4).slice(2))
    },
    fault: ({ resolvers }) => resolvers[0]!.set(NAME, 'A', addressesOf(4).slice(1, 3)),
    becomes: 'VALID',
  }),
  pool('without roots nothing happens', addressesOf(3), 2, { lab: { roots: false }, fault: nothing, becomes: 'VALID' }),
  pool('too large to be seen whole', addressesOf(60), 1, {
    monitor: { expected_value: ['192.0.2.0/24'], is_exact_match: false },
    fault: nothing,
    becomes: 'VALID',
  }),
  {
    name: 'a change that takes minutes to reach all of an anycast cluster is one event',
    fault: ({ allServers, random }) => {
      for (const server of allServers) server.rotate(NAME, 'A', [ADDRESS, '192.0.2.17'], 1, random)
    },
    secondFault: (lab) => {
      for (const server of lab.allServers) server.recover(NAME)
      lab.set(NAME, 'A', ['192.0.2.17'])
    },
    becomes: 'MISMATCH',
    values: ['192.0.2.17'],
  },
  {
    name: 'name servers that receive two changes one after the other cause an event once they agree',
    fault: ({ ns1, ns2, resolvers }) => {
      for (const server of [ns1, ...resolvers]) server.set(NAME, 'A', ['192.0.2.18'])
      ns2.set(NAME, 'A', ['192.0.2.19'])
    },
    secondFault: ({ set }) => set(NAME, 'A', ['192.0.2.19']),
    becomes: 'MISMATCH',
    values: ['192.0.2.19'],
  },
  {
    name: 'a complete answer becomes a rotating RRset',
    fault: (lab) => rotate(lab, lab.allServers, addressesOf(3), 2),
    becomes: 'MISMATCH',
    values: addressesOf(3),
    checks: 8,
  },
  {
    name: 'a rotating RRset whose second member is rare',
    monitor: { expected_value: [ADDRESS, '192.0.2.2'] },
    before: (lab) => rotateWeighted(lab, 1),
    fault: (lab) => rotateWeighted(lab, 6),
    warmUp: 8,
    checks: 30,
    becomes: 'VALID',
  },
  {
    name: 'a rotating RRset shrinks to one of its members',
    monitor: { expected_value: [ADDRESS, '192.0.2.2'] },
    before: (lab) => rotateWeighted(lab, 1),
    fault: (lab) => {
      for (const server of lab.allServers) server.recover(NAME)
      lab.set(NAME, 'A', [ADDRESS])
    },
    warmUp: 8,
    checks: 24,
    recover: ({ set }) => set(NAME, 'A', [ADDRESS, '192.0.2.2']),
    becomes: 'MISMATCH',
    values: [ADDRESS],
  },
  {
    name: 'a CNAME chain with a different edge each time, for a flexible monitor',
    monitor: { record_type: 'CNAME', expected_value: ['pop2.cdn.test'], is_exact_match: false },
    before: (lab) => {
      lab.remove(NAME, 'A')
      lab.set(NAME, 'CNAME', [EDGE])
      for (const server of [lab.cdn, ...lab.resolvers]) {
        server.remove(EDGE, 'A')
        server.rotate(EDGE, 'CNAME', ['pop1.cdn.test', 'pop2.cdn.test'], 1, lab.random)
        for (const pop of ['pop1.cdn.test', 'pop2.cdn.test']) server.set(pop, 'A', [ADDRESS])
      }
    },
    fault: () => {},
    warmUp: 40,
    checks: 20,
    becomes: 'VALID',
  },
  ...([0, NXDOMAIN] as const).flatMap((rcode): Scenario[] => {
    const denial = rcode === 0 ? 'has no records of' : 'denies'
    return [
      {
        name: `one machine of several behind every name server ${denial} the name`,
        fault: (lab) => denySometimes(lab, lab.allServers, rcode),
        checks: 24,
        becomes: 'VALID',
      },
      {
        name: `without roots, one machine of several behind the one recursive server ${denial} the name`,
        lab: { roots: false, resolvers: 1 },
        fault: (lab) => denySometimes(lab, lab.resolvers, rcode),
        checks: 24,
        becomes: 'VALID',
      },
    ]
  }),
]

/** Answers with the first of two members `weight` times as often as with the second. */
function rotateWeighted({ allServers, random }: Lab, weight: number): void {
  const members = [...Array<string>(weight).fill(ADDRESS), '192.0.2.2']
  for (const server of allServers) server.rotate(NAME, 'A', members, 1, random)
}
