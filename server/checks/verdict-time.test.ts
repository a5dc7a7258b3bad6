import { expect, type TestContext, test } from 'vitest'
import type { MonitorRecordType } from '#contract/record-types.ts'
import { createDnsClient } from '../dns/client.ts'
import { createNetworkCheck } from '../dns/network-check.ts'
import type { Outcome } from '../dns/outcome.ts'
import { createAuthoritativeClient } from '../dns/resolver/authoritative-client.ts'
import type { Claim } from '../queue/lease-queue.ts'
import { RDATA_FORMATS, recordTypeOf } from '../record-types/record-types.ts'
import type { DnsServer } from '../testing/dns-server.ts'
import { startDnsTree } from '../testing/dns-server-tree.ts'
import { createFastClock } from '../testing/fast-clock.ts'
import type { Recorded } from './check-state.ts'
import { fingerprint } from './fingerprint.ts'
import { runCheck } from './run-check.ts'

const NAME = 'www.example.test'
const CANARY = 'canary.test'
/** Four seconds pass in one: fast, and yet no stall of a busy machine is taken for silence. */
const SPEED = 4
/** Where the machine is busy its own time counts too; the simulator's tests hold the bounds themselves. */
const BUSY = 4
const real = (ms: number) => ms / SPEED

/** Two recursive servers and a zone on two name servers, asked with the deadlines of every day. */
async function givenWorld({ onTestFinished }: Pick<TestContext, 'onTestFinished'>) {
  const clock = createFastClock(SPEED)
  const tree = await startDnsTree()
  const [tld] = await tree.zone('test', ['a.nic.test'])
  const zone = await tree.zone('example.test', ['ns1.example.test', 'ns2.example.test'], [tld!])
  const resolvers = [await tree.server(), await tree.server()]
  tree.root.set('', 'SOA', ['root. hostmaster. 1 1800 900 604800 86400'])
  const dns = createDnsClient({ formats: RDATA_FORMATS, servers: resolvers.map(({ address }) => address), clock })
  const others = createDnsClient({ formats: RDATA_FORMATS, servers: [], clock })
  onTestFinished(async () => {
    await Promise.all([dns.close(), others.close()])
    await tree.close()
  })
  const all = [...zone, ...resolvers]
  for (const server of resolvers) server.set(CANARY, 'A', ['192.0.2.200'])
  for (const server of all) {
    server.set('example.test', 'NS', ['ns1.example.test', 'ns2.example.test'])
    server.set(NAME, 'A', ['192.0.2.2'])
  }
  const networkCheck = createNetworkCheck({ dns, clock, canaries: [CANARY], onOutage() {}, onRecovery() {} })
  const authoritativeClient = createAuthoritativeClient({ dns: others, clock, roots: [tree.root.address] })
  return {
    tld: tld!,
    zone,
    resolvers,
    all,
    /** Checks a monitor that was as expected before. `ms`: how long that took. */
    async check({ roots = true, type = 'A' }: { roots?: boolean; type?: MonitorRecordType } = {}) {
      const was: Outcome = {
        kind: 'answer',
        rrset: { name: NAME, type: 'A', ttl: 60, values: ['192.0.2.1'] },
        chain: [],
      }
      const claim = {
        owner: NAME,
        record_type: type,
        is_exact_match: 0,
        inconclusive_count: 0,
        fingerprint: fingerprint(was),
      }
      const recorded: Recorded = {
        owner: NAME,
        recordType: recordTypeOf(type),
        isExactMatch: false,
        expectedValues: ['192.0.2.1'],
        state: 'VALID',
        values: ['192.0.2.1'],
        fingerprint: fingerprint(was),
        isRotating: false,
        rotation: null,
        inconclusiveCount: 0,
      }
      const before = clock.elapsed()
      const deps = { dns, clock, networkCheck, authoritativeClient: roots ? authoritativeClient : undefined }
      const result = await runCheck(
        claim as Claim<'due_checks'>,
        deps,
        async () => ({ recorded, row: {} }),
        new AbortController().signal,
      )
      const outcome = result.kind === 'verdict' ? result.outcome.kind : result.kind
      return { outcome, ms: clock.elapsed() - before }
    },
  }
}

type World = Awaited<ReturnType<typeof givenWorld>>
const silent = (server: DnsServer) => server.drop(NAME)
const slowly =
  (rcode: string, ms = 1_500) =>
  (server: DnsServer) => {
    server.fail(NAME, rcode)
    server.delay(NAME, real(ms))
  }
const slowLinks = (length: number) => (server: DnsServer) => {
  server.remove(NAME, 'A')
  for (let at = 0; at < length; at++) {
    const name = at === 0 ? NAME : `n${at}.example.test`
    server.set(name, 'CNAME', [`n${at + 1}.example.test`])
    server.delay(name, real(1_500))
  }
}

type Case = { name: string; given(world: World): void; outcome: string; roots?: boolean; type?: MonitorRecordType }

test.concurrent.for<Case>([
  { name: 'a change', given: () => {}, outcome: 'answer' },
  { name: 'a change, without roots', given: () => {}, outcome: 'answer', roots: false },
  {
    name: 'a change at servers far away',
    given: ({ all }) => all.forEach((server) => void server.delay(NAME, real(200))),
    outcome: 'answer',
  },
  {
    name: 'a change, one server of each kind being silent',
    given: ({ zone, resolvers }) => [zone[0]!, resolvers[0]!].forEach(silent),
    outcome: 'answer',
  },
  {
    name: 'a change, the other server of each kind being silent',
    given: ({ zone, resolvers }) => [zone[1]!, resolvers[1]!].forEach(silent),
    outcome: 'answer',
  },
  {
    name: 'a change that only the zone tells, the recursive servers being silent',
    given: ({ resolvers }) => resolvers.forEach(silent),
    outcome: 'answer',
  },
  {
    name: 'a name that is gone',
    given: ({ all }) => all.forEach((server) => void server.remove(NAME, 'A')),
    outcome: 'nxdomain',
  },
])('within 10 s: $name', async ({ given, outcome, ...options }, context) => {
  const world = await givenWorld(context)
  given(world)
  const found = await world.check(options)
  expect(found.outcome).toBe(outcome)
  expect(found.ms).toBeLessThan(BUSY * 10_000)
})

test.concurrent.for<Case>([
  { name: 'silence everywhere', given: ({ all }) => all.forEach(silent), outcome: 'timeout' },
  { name: 'silence, without roots', given: ({ all }) => all.forEach(silent), outcome: 'timeout', roots: false },
  {
    name: 'recursive servers that fail slowly before a silent zone',
    given: ({ zone, resolvers }) => {
      zone.forEach(silent)
      resolvers.forEach(slowly('SERVFAIL'))
    },
    outcome: 'failure',
  },
  { name: 'everybody fails slowly', given: ({ all }) => all.forEach(slowly('SERVFAIL')), outcome: 'failure' },
  {
    name: 'a zone that refuses slowly, behind silence',
    given: ({ zone, resolvers }) => {
      zone.forEach(slowly('REFUSED', 600))
      resolvers.forEach(silent)
    },
    outcome: 'lame',
  },
  {
    name: 'data that does not validate, slowly',
    given: ({ tld, resolvers }) => {
      tld.set('example.test', 'DS', [`\\# 36 30390d02${'ab'.repeat(32)}`])
      resolvers.forEach((server) => {
        server.validate(NAME, { code: 7, text: '' })
        server.delay(NAME, real(1_500))
      })
    },
    outcome: 'failure',
  },
  {
    name: 'a long chain of slow aliases',
    given: ({ all }) => all.forEach(slowLinks(14)),
    outcome: 'timeout',
    type: 'CNAME',
  },
  {
    name: 'SERVFAIL before a long chain of slow aliases, without roots',
    given: ({ all }) =>
      all.forEach((server) => {
        slowLinks(14)(server)
        server.failType('MX', 'SERVFAIL')
      }),
    outcome: 'failure',
    roots: false,
    type: 'MX',
  },
])('within 40 s: $name', async ({ given, outcome, ...options }, context) => {
  const world = await givenWorld(context)
  given(world)
  const found = await world.check(options)
  expect(found.outcome).toBe(outcome)
  expect(found.ms).toBeLessThan(BUSY * 40_000)
})
