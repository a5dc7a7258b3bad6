import { expect, test } from 'vitest'
import { createRandom } from '../random.ts'
import { askHost, type Content, type Host } from './host.ts'
import { PLAIN, type ResolverPolicy } from './policy.ts'
import { createResolver } from './resolver.ts'
import { newZone, type ZoneRRset } from './zone.ts'

const A = (name: string, ttl: number, value: string): ZoneRRset => ({ name, type: 'A', ttl, values: [value] })
const NS = (name: string, ttl: number, value: string): ZoneRRset => ({ name, type: 'NS', ttl, values: [value] })

/** A root that delegates `demo` to one server, and a resolver. `versions`: what that server answers, by second. */
function givenResolver(policy: Partial<ResolverPolicy>, versions: [second: number, content: Content][]) {
  const root = newZone('', { ttl: 60, minimum: 60 }, [NS('demo', 3_600, 'ns.demo'), A('ns.demo', 3_600, '9.0.0.2')])
  const hosts: Host[] = [
    { ip: '9.0.0.1', name: 'a.root', services: [{ zone: '', machines: [[{ from: 0, content: root }]] }] },
    {
      ip: '9.0.0.2',
      name: 'ns.demo',
      services: [
        { zone: 'demo', machines: [versions.map(([second, content]) => ({ from: second * 1_000, content }))] },
      ],
    },
  ]
  const random = createRandom(1)
  const ask = (ip: string, question: Parameters<typeof resolver.query>[0], time: number) =>
    askHost(hosts.find((host) => host.ip === ip)!, { ...question, client: '' }, time, random)
  const resolver = createResolver({ policy: { ...PLAIN, ...policy }, caches: 1, rootIps: ['9.0.0.1'] }, ask, random)
  return (second: number) => {
    const { response } = resolver.query({ name: 'www.demo', type: 'A' }, second * 1_000)
    return [response.rcode, ...response.answer.flatMap(({ ttl, values }) => [ttl, ...values]), ...response.ede].join(
      ' ',
    )
  }
}

const zone = (records: ZoneRRset[]) =>
  newZone('demo', { ttl: 300, minimum: 60 }, [NS('demo', 3_600, 'ns.demo'), ...records])
const OLD = zone([A('www.demo', 100, '203.0.113.1')])
const NEW = zone([A('www.demo', 100, '203.0.113.2')])

test('an answer comes from the cache until its TTL ends', () => {
  const query = givenResolver({}, [
    [0, OLD],
    [50, NEW],
  ])
  expect([query(0), query(60), query(110)]).toEqual([
    'NOERROR 100 203.0.113.1',
    'NOERROR 41 203.0.113.1',
    'NOERROR 100 203.0.113.2',
  ])
})

test('a denial lives as long as the minimum of the SOA record', () => {
  const query = givenResolver({}, [
    [0, zone([])],
    [10, NEW],
  ])
  expect([query(0), query(50), query(70)]).toEqual(['NXDOMAIN', 'NXDOMAIN', 'NOERROR 100 203.0.113.2'])
})

test('TTLs have a floor and a cap', () => {
  expect(givenResolver({ minTtl: 600 }, [[0, OLD]])(0)).toBe('NOERROR 600 203.0.113.1')
  expect(givenResolver({ maxTtl: 30 }, [[0, OLD]])(0)).toBe('NOERROR 30 203.0.113.1')
})

test('a record is served stale after its refresh fails, with and without an extended error', () => {
  const serveStale = { when: 'after_failure', isDeclared: true, answerTtl: 30, maxStaleSeconds: 3_600 } as const
  const failing: [number, Content][] = [
    [0, OLD],
    [50, 'silent'],
  ]
  const query = givenResolver({ serveStale }, failing)
  expect([query(0), query(200), query(5_000)]).toEqual([
    'NOERROR 100 203.0.113.1',
    'NOERROR 30 203.0.113.1 3',
    'SERVFAIL',
  ])
  const undeclared = givenResolver({ serveStale: { ...serveStale, isDeclared: false } }, failing)
  expect([undeclared(0), undeclared(200)]).toEqual(['NOERROR 100 203.0.113.1', 'NOERROR 30 203.0.113.1'])
})

test('a validating resolver refuses a signature that has expired, one by another key, and none', () => {
  const signed = (signature: ZoneRRset['signature'] | undefined) =>
    newZone('demo', { ttl: 300, minimum: 60 }, [
      ...[
        NS('demo', 3_600, 'ns.demo'),
        A('www.demo', 10, '203.0.113.1'),
        { name: 'demo', type: 'DNSKEY' as const, ttl: 10, values: ['k'] },
      ].map((rrset) => (signature ? { ...rrset, signature } : rrset)),
    ])
  const root = newZone('', { ttl: 60, minimum: 60 }, [
    NS('demo', 3_600, 'ns.demo'),
    A('ns.demo', 3_600, '9.0.0.2'),
    { name: 'demo', type: 'DS', ttl: 3_600, values: ['k'] },
  ])
  const rcodes = [
    { key: 'k', from: 0, until: 10_000_000 },
    { key: 'k', from: 0, until: 1_000 },
    { key: 'other', from: 0, until: 10_000_000 },
    undefined,
  ].map((signature) => {
    const contents: Record<string, Content> = { '9.0.0.1': root, '9.0.0.2': signed(signature) }
    const random = createRandom(1)
    const ask = (ip: string, question: { name: string; type: 'A' }, time: number) => {
      const zoneName = ip === '9.0.0.1' ? '' : 'demo'
      const host = { ip, name: ip, services: [{ zone: zoneName, machines: [[{ from: 0, content: contents[ip]! }]] }] }
      return askHost(host, { ...question, client: '' }, time, random)
    }
    const policy = { ...PLAIN, validates: true, extendedErrors: true }
    const resolver = createResolver({ policy, caches: 1, rootIps: ['9.0.0.1'] }, ask as never, random)
    const query = (checkingDisabled: boolean) =>
      resolver.query({ name: 'www.demo', type: 'A' }, 5_000, checkingDisabled).response
    return [query(false).rcode, ...query(false).ede, query(true).rcode].join(' ')
  })
  expect(rcodes).toEqual(['NOERROR NOERROR', 'SERVFAIL 7 NOERROR', 'SERVFAIL 9 NOERROR', 'SERVFAIL 10 NOERROR'])
})
