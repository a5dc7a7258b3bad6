import type { QuestionType } from '#server/dns/outcome.ts'
import type { DnsServer } from '#server/testing/dns-server.ts'
import { ADDRESS, type Lab, NAME } from './lab.ts'
import type { Scenario } from './scenario.ts'

const NEW = '192.0.2.50'
const OLD_NS = ['ns1.example.test', 'ns2.example.test']
const TWO_DAYS_S = 172_800

/** A resolver with a copy: its TTL runs down, and begins again with the next copy. */
function cached({ clock }: Lab, server: DnsServer, name: string, type: QuestionType, values: string[], ttlS: number) {
  const from = clock.elapsed()
  const ttl = () => ttlS - (Math.floor((clock.elapsed() - from) / 1_000) % ttlS)
  server.set(name, type, values, { ttl })
}

/** Resolvers that keep the old delegation for two days take each new copy of the record from the old servers. */
function keepOldDelegation(lab: Lab, servers: readonly DnsServer[]): void {
  for (const server of servers) {
    cached(lab, server, 'example.test', 'NS', OLD_NS, TWO_DAYS_S)
    cached(lab, server, NAME, 'A', [ADDRESS], 5)
  }
}

async function moveToOtherProvider(lab: Lab): Promise<DnsServer> {
  const provider = await lab.tree.server(['example.test'])
  provider.set(NAME, 'A', [NEW])
  provider.set('example.test', 'NS', ['ns.provider.test'])
  lab.tld.delegate('example.test', { 'ns.provider.test': [provider.address.ip] })
  lab.tld.set('ns.provider.test', 'A', [provider.address.ip])
  return provider
}

/** `count` servers, each with one of the addresses in turn, beside the two of the zone. */
async function delegateToMany(lab: Lab, addresses: readonly string[]): Promise<DnsServer[]> {
  const servers: DnsServer[] = []
  for (const address of addresses) {
    const server = await lab.tree.server(['example.test'])
    server.set(NAME, 'A', [address])
    servers.push(server)
  }
  const names = servers.map(({ address }, index) => [`ns${index + 1}.example.test`, [address.ip]])
  const delegation: Record<string, string[]> = Object.fromEntries(names)
  lab.tld.delegate('example.test', delegation)
  for (const server of [...servers, ...lab.resolvers]) server.set('example.test', 'NS', Object.keys(delegation))
  return servers
}

/** What happens in the real DNS: delegations in caches, secondaries that lag, registries. Truth is what the delegated servers publish. */
const SCENARIOS: Scenario[] = [
  {
    name: 'a move to another provider: one resolver has the new delegation, two keep the old one for days',
    lab: { resolvers: 3 },
    fault: async (lab) => {
      await moveToOtherProvider(lab)
      keepOldDelegation(lab, lab.resolvers.slice(1))
      lab.resolvers[0]!.set(NAME, 'A', [NEW])
      lab.resolvers[0]!.set('example.test', 'NS', ['ns.provider.test'])
    },
    checks: 15,
    becomes: 'MISMATCH',
    values: [NEW],
  },
  {
    name: 'a move to another provider that no resolver has seen yet is recorded within an hour and one interval',
    fault: async (lab) => {
      await moveToOtherProvider(lab)
      keepOldDelegation(lab, lab.resolvers)
    },
    checks: 12,
    becomes: 'MISMATCH',
    values: [NEW],
    warns: ['resolvers_outdated'],
  },
  {
    name: 'a move to another provider with the same records is no event',
    lab: { resolvers: 3 },
    fault: async (lab) => {
      const provider = await moveToOtherProvider(lab)
      provider.set(NAME, 'A', [ADDRESS])
      keepOldDelegation(lab, lab.resolvers)
    },
    checks: 15,
    becomes: 'VALID',
  },
  {
    name: 'a domain that its registry suspends is gone once, while resolvers still have its records',
    lab: { resolvers: 3 },
    fault: (lab) => {
      lab.tld.undelegate('example.test')
      keepOldDelegation(lab, lab.resolvers.slice(1))
      lab.resolvers[0]!.remove(NAME, 'A')
      lab.resolvers[0]!.remove('example.test', 'NS')
    },
    checks: 15,
    becomes: 'NOT_FOUND',
  },
  {
    name: 'all name servers are dead, and the resolvers serve expired copies without saying so',
    fault: (lab) => {
      for (const server of lab.zone) server.drop('*')
      for (const server of lab.resolvers) {
        server.fail('*', 'SERVFAIL')
        for (const name of [NAME, 'example.test']) server.fail(name, 'NOERROR')
      }
    },
    checks: 20,
    becomes: 'TIMEOUT',
    diagnosisContains: 'they answered only from their caches',
  },
  {
    name: 'the name servers do not answer us, and the resolvers still reach them',
    fault: (lab) => lab.zone.forEach((server) => void server.drop('*')),
    checks: 20,
    becomes: 'VALID',
  },
  {
    name: 'the name servers of the zone itself are others than those of its delegation',
    before: (lab) => {
      for (const server of lab.allServers) server.set('example.test', 'NS', ['ns.child.test'])
      for (const server of lab.resolvers) server.set(NAME, 'A', ['192.0.2.60'])
    },
    fault: () => {},
    becomes: 'VALID',
    warns: ['parent_and_child_differ'],
  },
  ...([NAME, 'w3.example.test'] as const).map(
    (name): Scenario => ({
      name: `eight name servers of two providers, and one provider has other records: ${name}`,
      monitor: { full_domain: name, expected_value: [ADDRESS] },
      before: (lab) => lab.set(name, 'A', [ADDRESS]),
      fault: async (lab) => {
        const values = [ADDRESS, ADDRESS, ADDRESS, ...Array.from({ length: 5 }, () => NEW)]
        const servers = await delegateToMany(lab, values)
        servers.forEach((server, index) => void server.set(name, 'A', [values[index]!]))
        for (const server of lab.resolvers) server.set(name, 'A', [NEW])
      },
      becomes: 'MISMATCH',
      values: [NEW],
      warns: ['name_servers_differ'],
    }),
  ),
  {
    name: 'one of four name servers can be reached, and it is out of date',
    fault: async (lab) => {
      const servers = await delegateToMany(lab, [ADDRESS, NEW, NEW, NEW])
      for (const server of servers.slice(1)) server.drop('*')
      for (const server of lab.resolvers) server.set(NAME, 'A', [NEW])
    },
    becomes: 'MISMATCH',
    values: [NEW],
    warns: ['name_servers_silent'],
  },
  {
    name: 'a change that one of four name servers does not have yet',
    fault: async (lab) => {
      await delegateToMany(lab, [NEW, NEW, NEW, ADDRESS])
      for (const server of lab.resolvers) server.set(NAME, 'A', [NEW])
    },
    becomes: 'MISMATCH',
    values: [NEW],
    warns: ['name_servers_differ'],
  },
  {
    name: 'one of four name servers lags behind, one refuses and one is dead: the record is right',
    fault: async (lab) => {
      const [lagging, refusing, dead] = await delegateToMany(lab, [NEW, ADDRESS, ADDRESS, ADDRESS, ADDRESS, ADDRESS])
      lagging!.set(NAME, 'A', ['192.0.2.70'])
      refusing!.fail('*', 'REFUSED')
      dead!.drop('*')
      // Provokes a confirmation.
      lab.resolvers[0]!.set(NAME, 'A', ['203.0.113.66'])
    },
    becomes: 'VALID',
    warns: ['name_servers_differ', 'name_servers_lame', 'name_servers_silent'],
  },
]

/** The interval is that of the checks, so that each place in the hour has its turn. */
export const SOURCE_SCENARIOS = SCENARIOS.map(
  (scenario): Scenario => ({ ...scenario, monitor: { frequency: 6, ...scenario.monitor } }),
)
