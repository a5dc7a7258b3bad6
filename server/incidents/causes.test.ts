import { expect, onTestFinished, test } from 'vitest'
import { evidenceOf, newDiagnosis } from '../checks/evidence.ts'
import { fingerprint } from '../checks/fingerprint.ts'
import { runCheck } from '../checks/run-check.ts'
import { conclude } from '../checks/verdict.ts'
import { createDnsClient } from '../dns/client.ts'
import type { Outcome } from '../dns/outcome.ts'
import { createAuthoritativeClient } from '../dns/resolver/authoritative-client.ts'
import type { Claim } from '../queue/lease-queue.ts'
import { RDATA_FORMATS, recordTypeOf } from '../record-types/record-types.ts'
import type { DnsServer } from '../testing/dns-server.ts'
import { startDnsTree } from '../testing/dns-server-tree.ts'
import { createFastClock } from '../testing/fast-clock.ts'
import { causesOf } from './causes.ts'

const NAME = 'www.example.test'
const NAME_SERVERS = ['ns1.provider.test', 'ns2.provider.test']
const VALID: Outcome = {
  kind: 'answer',
  rrset: { name: NAME, type: 'A', ttl: 60, values: ['192.0.2.1'] },
  chain: [],
}
const recorded = {
  ...{ owner: NAME, recordType: recordTypeOf('A'), isExactMatch: false, expectedValues: ['192.0.2.1'] },
  ...{ state: 'VALID' as const, values: ['192.0.2.1'], fingerprint: fingerprint(VALID), isRotating: false },
  ...{ rotation: null, inconclusiveCount: 0 },
}

/** A zone on two name servers of a provider, and a real check of a monitor that was valid. */
async function givenZone() {
  const clock = createFastClock(4)
  const tree = await startDnsTree()
  const tld = await tree.zone('test', ['a.nic.test', 'b.nic.test'])
  const zone = await tree.zone('example.test', NAME_SERVERS, tld)
  const resolver = await tree.server()
  const dns = createDnsClient({ formats: RDATA_FORMATS, servers: [resolver.address], clock })
  const others = createDnsClient({ formats: RDATA_FORMATS, servers: [], clock })
  onTestFinished(async () => {
    await Promise.all([dns.close(), others.close()])
    await tree.close()
  })
  const authoritativeClient = createAuthoritativeClient({ dns: others, clock, roots: [tree.root.address] })
  return {
    tld,
    zone,
    resolver,
    async causes() {
      const claim = { owner: NAME, record_type: 'A', inconclusive_count: 3, fingerprint: recorded.fingerprint }
      const deps = { dns, clock, networkCheck: undefined, authoritativeClient }
      const load = async () => ({ recorded, row: {} })
      const result = await runCheck(claim as Claim<'due_checks'>, deps, load, new AbortController().signal)
      if (result.kind !== 'verdict') throw new Error(result.kind)
      const { reason, state } = conclude(recorded, result).verdict
      const { confirmation, at, observations } = result
      const diagnosis = JSON.stringify(newDiagnosis({ reason, confirmation, at }, evidenceOf(observations)))
      const common = { domain: 'example.test', record_type: 'A', current_values: null }
      return causesOf({ ...common, new_state: state, diagnosis }).map(({ kind, value }) => [kind, value])
    },
  }
}
type World = Awaited<ReturnType<typeof givenZone>>
const all = ({ zone, resolver }: World) => [...zone, resolver]

test.for<{ name: string; given(world: World): void; causes: unknown[] }>([
  { name: 'lost the name', given: () => {}, causes: [['provider', 'provider.test']] },
  {
    name: 'refuse the zone',
    given: (world) => all(world).forEach((server: DnsServer) => void server.fail(NAME, 'REFUSED')),
    causes: [['provider', 'provider.test']],
  },
  {
    name: 'are silent',
    given: (world) => all(world).forEach((server: DnsServer) => void server.drop(NAME)),
    causes: [
      ['name_server', 'ns1.provider.test'],
      ['name_server', 'ns2.provider.test'],
      ['provider', 'provider.test'],
    ],
  },
  {
    name: 'are no longer those of the domain, which its parent does not delegate',
    given: ({ tld }) => tld.forEach((server) => void server.undelegate('example.test')),
    causes: [['parent', 'test']],
  },
])('a check of a zone whose name servers $name has this cause', async ({ given, causes }) => {
  const world = await givenZone()
  given(world)
  expect(await world.causes()).toEqual([['zone', null], ...causes])
})
