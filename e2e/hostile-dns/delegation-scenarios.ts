import type { DnsServer } from '#server/testing/dns-server.ts'
import { ADDRESS, type Lab, NAME } from './lab.ts'
import type { Scenario } from './scenario.ts'

const dropAll = (servers: DnsServer[]) => servers.forEach((server) => void server.drop('*'))
const failAll = (servers: DnsServer[]) => servers.forEach((server) => void server.fail('*', 'SERVFAIL'))
const refuseAll = (servers: DnsServer[]) => servers.forEach((server) => void server.fail('*', 'REFUSED'))

const EDGE = 'edge.cdn.test'
const replaceByCname = ({ remove, set }: Lab, target: string) => {
  remove(NAME, 'A')
  set(NAME, 'CNAME', [target])
}

/** Changes the delegation at the registry. */
const delegate = ({ tld }: Lab, nameServers: Record<string, string[]>) => tld.delegate('example.test', nameServers)

/** One recursive server lies, so that Zonewatch queries the zone. */
const provokeConfirmation = ({ resolvers }: Lab) => resolvers[0]!.set(NAME, 'A', ['203.0.113.66'])

export const DELEGATION_SCENARIOS: Scenario[] = [
  {
    name: 'every name server refuses',
    fault: (lab) => {
      refuseAll(lab.zone)
      failAll(lab.resolvers)
    },
    becomes: 'BAD_SETUP',
    diagnosisContains: 'do not serve it',
  },
  {
    name: 'every name server fails',
    fault: (lab) => {
      failAll(lab.zone)
      failAll(lab.resolvers)
    },
    becomes: 'INVALID',
    diagnosisContains: 'SERVFAIL',
  },
  {
    name: 'all name servers are unresponsive',
    fault: (lab) => {
      dropAll(lab.zone)
      failAll(lab.resolvers)
    },
    becomes: 'INVALID',
  },
  {
    name: 'all servers are unresponsive',
    fault: (lab) => {
      dropAll(lab.zone)
      dropAll(lab.resolvers)
    },
    becomes: 'TIMEOUT',
    diagnosisContains: 'no name server answered',
  },
  {
    name: 'one name server refuses and one is unresponsive',
    fault: ({ ns1, ns2, resolvers }) => {
      refuseAll([ns1])
      dropAll([ns2])
      failAll(resolvers)
    },
    becomes: 'INVALID',
  },
  {
    name: 'name servers without an address',
    fault: (lab) => {
      refuseAll(lab.zone)
      delegate(lab, { 'ns.gone.test': [] })
      failAll(lab.resolvers)
    },
    becomes: 'BAD_SETUP',
    diagnosisContains: 'no usable address',
  },
  {
    name: 'name servers whose names depend on each other',
    fault: (lab) => {
      refuseAll(lab.zone)
      delegate(lab, { 'ns.circle.test': [] })
      lab.tld.delegate('circle.test', { 'ns.example.test': [] })
      failAll(lab.resolvers)
    },
    becomes: 'BAD_SETUP',
    diagnosisContains: 'no usable address',
  },
  {
    name: 'name servers that refer to the root',
    fault: (lab) => {
      for (const server of lab.zone) server.delegate('', { 'root.test': [lab.root.address.ip] })
      failAll(lab.resolvers)
    },
    becomes: 'BAD_SETUP',
  },
  {
    name: 'a cache answers instead of the name servers',
    fault: async (lab) => {
      const cache = await lab.tree.server()
      cache.set(NAME, 'A', [ADDRESS])
      refuseAll(lab.zone)
      delegate(lab, { 'ns1.example.test': [cache.address.ip] })
      failAll(lab.resolvers)
    },
    becomes: 'BAD_SETUP',
  },
  {
    name: 'the delegation is gone',
    fault: (lab) => {
      lab.tld.undelegate('example.test')
      refuseAll(lab.zone)
      for (const server of lab.resolvers) {
        server.remove(NAME, 'A')
        server.remove('example.test', 'NS')
      }
    },
    becomes: 'NOT_FOUND',
  },
  {
    name: 'the zone moves to another server with the same records',
    fault: async (lab) => {
      provokeConfirmation(lab)
      refuseAll(lab.zone)
      await move(lab, ADDRESS)
    },
    becomes: 'VALID',
  },
  {
    name: 'the zone moves to another server with other records, and the old ones still answer',
    fault: async (lab) => {
      await move(lab, '192.0.2.16')
      for (const server of lab.resolvers) server.set(NAME, 'A', ['192.0.2.16'])
    },
    becomes: 'MISMATCH',
    values: ['192.0.2.16'],
  },
  {
    name: 'one dead address and one good address',
    fault: (lab) => {
      provokeConfirmation(lab)
      delegate(lab, { 'ns1.example.test': ['127.0.0.254'], 'ns2.example.test': [lab.ns2.address.ip] })
    },
    becomes: 'VALID',
  },
  {
    name: 'glue outside of the delegating zone is ignored',
    fault: (lab) => {
      provokeConfirmation(lab)
      const forger = lab.resolvers[0]!.address.ip
      delegate(lab, { 'ns1.example.test': [lab.ns1.address.ip], 'dns.elsewhere': [forger] })
    },
    becomes: 'VALID',
  },
  {
    name: 'the parent name server denies a name that it delegates',
    fault: (lab) => {
      provokeConfirmation(lab)
      lab.tld.undelegate('example.test')
    },
    becomes: 'VALID',
  },
  ...(['SERVFAIL', 'REFUSED'] as const).map(
    (rcode): Scenario => ({
      name: `the top-level domain's server answers ${rcode}`,
      fault: (lab) => {
        provokeConfirmation(lab)
        lab.tld.fail('*', rcode)
      },
      becomes: 'VALID',
    }),
  ),
  {
    name: 'the root stops responding after a while',
    fault: (lab) => {
      provokeConfirmation(lab)
      dropAll([lab.root, lab.tld])
    },
    becomes: 'VALID',
  },
  {
    name: 'a child zone without a delegation',
    fault: (lab) => {
      for (const server of lab.zone) server.delegate(NAME, { 'ns.gone.test': [] })
      failAll(lab.resolvers)
    },
    becomes: 'BAD_SETUP',
  },
  {
    name: 'a child zone on its own server',
    fault: async (lab) => {
      const childServer = await lab.tree.server([NAME])
      childServer.set(NAME, 'A', ['192.0.2.12'])
      for (const server of lab.zone) server.delegate(NAME, { [`ns.${NAME}`]: [childServer.address.ip] })
      for (const server of lab.resolvers) server.set(NAME, 'A', ['192.0.2.12'])
    },
    becomes: 'MISMATCH',
    values: ['192.0.2.12'],
  },
  {
    name: 'a CNAME to a zone of another provider that moves while its old servers still answer',
    before: (lab) => replaceByCname(lab, EDGE),
    fault: async (lab) => {
      const moved = await lab.tree.server(['cdn.test'])
      moved.set(EDGE, 'A', ['192.0.2.16'])
      lab.tld.delegate('cdn.test', { 'ns.moved.cdn.test': [moved.address.ip] })
      for (const server of lab.resolvers) server.set(EDGE, 'A', ['192.0.2.16'])
    },
    becomes: 'MISMATCH',
    values: ['192.0.2.16'],
  },
  {
    name: 'glue for one of two name servers below the zone itself is missing',
    fault: (lab) => {
      provokeConfirmation(lab)
      delegate(lab, { 'ns1.example.test': [], 'ns2.example.test': [lab.ns2.address.ip] })
    },
    becomes: 'VALID',
  },
  {
    name: 'the delegation names a lame server and a good one',
    fault: (lab) => {
      provokeConfirmation(lab)
      delegate(lab, { 'ns1.example.test': [lab.cdn.address.ip], 'ns2.example.test': [lab.ns2.address.ip] })
    },
    becomes: 'VALID',
  },
  {
    name: 'zones that depend on each other, one with glue',
    fault: (lab) => {
      provokeConfirmation(lab)
      delegate(lab, { 'ns.cdn.test': [], 'ns2.example.test': [lab.ns2.address.ip] })
      lab.tld.delegate('cdn.test', { 'ns2.example.test': [] })
      lab.ns2.set('ns2.example.test', 'A', [lab.ns2.address.ip])
    },
    becomes: 'VALID',
  },
]

async function move(lab: Lab, address: string): Promise<void> {
  const server = await lab.tree.server(['example.test'])
  server.set(NAME, 'A', [address])
  server.set('example.test', 'NS', ['ns.moved.example.test'])
  delegate(lab, { 'ns.moved.example.test': [server.address.ip] })
  for (const resolver of lab.resolvers) resolver.set('example.test', 'NS', ['ns.moved.example.test'])
}
