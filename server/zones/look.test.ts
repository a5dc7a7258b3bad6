import { expect, onTestFinished, test } from 'vitest'
import { createChainOfTrust } from '../dns/dnssec/chain-of-trust.ts'
import { createServerValidator } from '../dns/dnssec/server-validator.ts'
import type { NetworkCheck } from '../dns/network-check.ts'
import { createAuthoritativeClient } from '../dns/resolver/authoritative-client.ts'
import { givenDnsClient } from '../testing/dns.ts'
import type { DnsServer } from '../testing/dns-server.ts'
import { startDnsTree } from '../testing/dns-server-tree.ts'
import { patientClock } from '../testing/patient-clock.ts'
import { packetOf } from '../testing/signed-zone.ts'
import { createZoneSigner, dsValue, serveSigned } from '../testing/zone-signer.ts'
import { runChecks } from './checks.ts'
import { type LookDeps, lookAtZone } from './look.ts'
import { NO_MEMORY, nextMemory } from './memory.ts'

const ZONE = 'example.com'
const SOA = 'ns1.example.com hostmaster.example.com 100 3600 600 604800 300'
const NAMES = ['ns1.example.com', 'ns2.example.net']
const signal = new AbortController().signal

/** example.com with two name servers, one inside the zone and one in another, each with its own address. */
async function givenZone(more: Partial<LookDeps> = {}) {
  const tree = await startDnsTree()
  onTestFinished(() => tree.close())
  const [com, otherCom] = (await tree.zone('com', ['a.nic.com', 'b.nic.com'])) as [DnsServer, DnsServer]
  const [net] = (await tree.zone('net', ['a.nic.net'])) as [DnsServer]
  const parents = [com, otherCom]
  const [ns1, ns2] = (await tree.zone(ZONE, NAMES, parents)) as [DnsServer, DnsServer]
  await tree
    .zone('example.net', ['ns.example.net'], [net])
    .then(([server]) => server!.set(NAMES[1]!, 'A', [ns2.address.ip]))
  for (const server of [ns1, ns2]) server.set(ZONE, 'SOA', [SOA])
  for (const server of [ns1, ns2]) server.set(NAMES[0]!, 'A', [ns1.address.ip])
  const dns = givenDnsClient([])
  const common = { sender: dns, clock: patientClock, timeoutMs: 300 }
  const authoritativeClient = createAuthoritativeClient({
    dns,
    clock: patientClock,
    roots: [tree.root.address],
    timeoutMs: 300,
  })
  const { port } = tree.root.address
  const chainOfTrust = createChainOfTrust({ ...common, authoritativeClient, anchors: [] })
  const deps: LookDeps = {
    ...common,
    authoritativeClient,
    serverValidator: createServerValidator({ ...common, chainOfTrust, port }),
    packetSender: dns,
    port,
    networkCheck: undefined,
    ...more,
  }
  const look = () => lookAtZone(ZONE, deps, 'org', signal)
  return {
    ...{ tree, parents, com, ns1, ns2, deps, look },
    async facts() {
      const seen = await look()
      if (seen.kind !== 'facts') throw new Error(`withheld: ${seen.reason}`)
      return seen.facts
    },
    /** The codes of what a first look finds, with what each is about. */
    async findings(expected = NAMES) {
      const facts = await this.facts()
      const { results } = runChecks(facts, nextMemory(NO_MEMORY, facts), expected)
      const found = results.filter((result) => !('isUnknown' in result))
      return found.map(({ code, about }) => (about === '' ? code : `${code} ${about}`)).sort()
    },
  }
}
type World = Awaited<ReturnType<typeof givenZone>>

/** All servers of a test are in one network. */
const ONLY_NETWORK = ['single_network']

test('a healthy zone has its servers with their serials, and no finding', async () => {
  const world = await givenZone()
  expect(await world.facts()).toMatchObject({
    delegation: { nameServers: NAMES },
    ds: [],
    servers: NAMES.map((name) => ({
      name,
      isDelegated: true,
      isInZone: true,
      response: { kind: 'answers', soa: { serial: 100, expire: 604_800 }, nameServers: NAMES, tcp: true },
    })),
  })
  expect(await world.findings()).toEqual(ONLY_NETWORK)
})

test.each<[string, (world: World) => void, string[]]>([
  ['is gone', ({ parents }) => void parents.map((parent) => parent.undelegate(ZONE)), ['not_a_zone']],
  ['has a server that refuses', ({ ns2 }) => ns2.fail(ZONE, 'REFUSED'), ['name_server_refuses ns2.example.net']],
  ['has a silent server', ({ ns2 }) => ns2.drop('*'), ['name_server_silent ns2.example.net']],
  [
    'has a lame server',
    ({ ns2 }) => ns2.respond(ZONE, (query) => notAuthoritative(query)),
    ['name_server_lame ns2.example.net'],
  ],
  [
    'has a server without TCP',
    ({ ns2 }) => ns2.respond(ZONE, (_, transport) => (transport === 'tcp' ? null : 'zone')),
    ['name_server_without_tcp ns2.example.net'],
  ],
  [
    'has another serial with other data',
    ({ ns2 }) => ns2.set(ZONE, 'SOA', [SOA.replace(' 300', ' 301')]),
    ['same_serial_differs ns2.example.net'],
  ],
  [
    'has other NS records than the parent zone',
    ({ ns1, ns2 }) => void [ns1, ns2].map((each) => each.set(ZONE, 'NS', ['ns1.example.com', 'ns9.example.net'])),
    ['name_servers_differ', 'name_server_without_address ns9.example.net'],
  ],
  [
    'has glue that the zone does not have',
    ({ ns1, ns2 }) => void [ns1, ns2].map((each) => each.set(NAMES[0]!, 'A', ['127.0.0.99'])),
    ['glue_differs ns1.example.com'],
  ],
  [
    'is delegated to a stranger',
    ({ parents, ns1, ns2 }) => {
      for (const parent of parents)
        parent.delegate(ZONE, { [NAMES[0]!]: [ns1.address.ip], 'ns.evil.com': [ns2.address.ip] })
    },
    ['name_servers_differ', 'unexpected_name_server ns.evil.com'],
  ],
])('a zone that %s has that finding', async (_, change, expected) => {
  const world = await givenZone()
  change(world)
  const found = await world.findings()
  expect(found.filter((each) => each !== 'single_network')).toEqual(expected.sort())
})

test('one server of the parent zone that no longer delegates it is no finding', async () => {
  const world = await givenZone()
  world.com.undelegate(ZONE)
  expect(await world.findings()).toEqual(ONLY_NETWORK)
})

test('a signed zone whose DS record matches no key is bogus, and one with a key is secure', async () => {
  const signer = createZoneSigner(ZONE)
  const other = createZoneSigner(ZONE)
  const world = await givenZone()
  const wires = (records: readonly { wire: Buffer }[]) => records.map(({ wire }) => wire)
  for (const server of [world.ns1, world.ns2])
    serveSigned(
      server,
      [
        { question: [ZONE, 'DNSKEY'], answer: wires(signer.keys()) },
        { question: [ZONE, 'SOA'], answer: wires(signer.signRrset(`${ZONE}. 300 IN SOA ${SOA}`)) },
      ],
      'zone',
    )
  for (const parent of world.parents) parent.set(ZONE, 'DS', [dsValue(signer.ds)])
  expect(await world.findings()).toEqual(ONLY_NETWORK)
  expect((await world.facts()).servers[0]!.response).toMatchObject({
    verdict: { kind: 'secure' },
    keys: [{ keyTag: signer.keyTag, algorithm: 15 }],
    signatures: [{ type: 'SOA' }, { type: 'DNSKEY' }],
  })

  for (const parent of world.parents) parent.set(ZONE, 'DS', [dsValue(other.ds)])
  expect(await world.findings()).toContain('dnssec_bogus')
})

test('without a working network of its own, a look is withheld', async () => {
  const offline = { state: async () => 'offline' } as unknown as NetworkCheck
  expect(await (await givenZone({ networkCheck: offline })).look()).toEqual({ kind: 'withheld', reason: 'network' })
})

test('a network that fails during the look withholds it', async () => {
  const states = ['ok', 'offline']
  const failing = { state: async () => states.shift() } as unknown as NetworkCheck
  const world = await givenZone({ networkCheck: failing })
  world.ns2.drop('*')
  expect(await world.look()).toEqual({ kind: 'withheld', reason: 'network' })
})

test('silent servers of the parent zone withhold a look', async () => {
  const world = await givenZone()
  for (const parent of world.parents) parent.drop('*')
  expect(await world.look()).toEqual({ kind: 'withheld', reason: 'parent_silent' })
})

test.each([
  ['', 'DNSKEY', 'withheld'],
  ['com', 'DS', 'withheld'],
  [ZONE, 'SOA', 'facts'],
  [ZONE, 'DS', 'facts'],
])(
  'if a signature of %s %s expired, the look has %s: only the root zone says that the own clock is wrong',
  async (name, type, kind) => {
    const cause = {
      code: 'signature_expired' as const,
      params: { name, type, key_tag: 1, at: '2026-01-01T00:00:00.000Z' },
    }
    const validate = async () => ({ kind: 'bogus' as const, cause, ede: [] })
    const { look } = await givenZone({ serverValidator: { hasTrustAnchors: true, validate } })
    expect(await look()).toMatchObject(kind === 'facts' ? { kind } : { kind, reason: 'clock' })
  },
)

test('a look without root servers is withheld', async () => {
  const world = await givenZone({ authoritativeClient: undefined })
  expect(await world.look()).toEqual({ kind: 'withheld', reason: 'no_roots' })
})

test('a look sends a bounded number of queries', async () => {
  const world = await givenZone()
  await world.facts()
  const before = world.ns1.queries.total + world.ns2.queries.total
  const parents = world.parents[0]!.queries.total + world.parents[1]!.queries.total
  await world.facts()
  // SOA, SOA over TCP and NS of each server, NS of the zone, the addresses of ns1, and SOA at the end of the delegation.
  expect(world.ns1.queries.total + world.ns2.queries.total - before).toBeLessThanOrEqual(12)
  expect(world.parents[0]!.queries.total + world.parents[1]!.queries.total - parents).toBeLessThanOrEqual(6)
})

/** The zone's SOA record without the AA bit. */
function notAuthoritative(query: Buffer): Buffer {
  const packet = packetOf({ question: [ZONE, 'SOA'] })
  packet.writeUInt16BE(query.readUInt16BE(0), 0)
  packet.writeUInt16BE(0x8000, 2)
  return packet
}
