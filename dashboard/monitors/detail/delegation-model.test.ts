import { expect, test } from 'vitest'
import type { Delegation, DiagnosisPath, DnsOutcome } from '#contract/diagnosis.ts'
import { layout, neighbor } from './delegation-layout.ts'
import { delegationPicture } from './delegation-model.ts'

const NAME = 'www.harbor.test'
const path = (name: string, outcome: DnsOutcome, more: Partial<DiagnosisPath> = {}): DiagnosisPath => ({
  ...{ server: `${name.length}.0.2.1:53`, name, path: 'authoritative', transport: 'udp', rcode: 'NOERROR' },
  ...{ flags: [], ede: [], ms: 1, outcome },
  ...more,
})
const answer = (values: string[], chain: { name: string; target: string; ttl: number }[] = []): DnsOutcome => ({
  ...{ kind: 'answer', rrset: { name: NAME, type: 'A', ttl: 60, values }, chain },
})
function resolver(outcome: DnsOutcome): DiagnosisPath {
  const { name: _, ...exchange } = path('', outcome, { path: 'recursive', server: '192.0.2.53:53' })
  return exchange
}
const DELEGATION: Delegation = {
  ...{ zone: 'harbor.test', parent: 'test', own_name_servers: ['ns1.harbor.test', 'ns2.harbor.test'] },
  parents: [{ servers: ['a.nic.test', 'b.nic.test'], name_servers: ['ns1.harbor.test', 'ns2.harbor.test'] }],
}
const SHOWN = { name: NAME, isValid: true, warnings: [] }

const picture = (paths: DiagnosisPath[], delegation: Partial<Delegation> = {}, shown = {}) => {
  const { nodes, edges } = delegationPicture(
    { delegation: { ...DELEGATION, ...delegation }, paths },
    { ...SHOWN, ...shown },
  )!
  const node = (id: string) => nodes.find((each) => each.id === id)
  return { nodes, node, edges: edges.map(({ from, to }) => `${from} > ${to}`) }
}

test('without a delegation in the evidence there is no picture', () => {
  expect(delegationPicture({ paths: [path('ns1.harbor.test', answer(['203.0.113.1']))] }, SHOWN)).toBeUndefined()
})

test('a zone that is well: every server leads to the one answer, resolvers by their caches', () => {
  const same = answer(['203.0.113.1'])
  const { nodes, edges } = picture([path('ns1.harbor.test', same), path('ns2.harbor.test', same), resolver(same)])
  expect(nodes.filter(({ sign }) => sign)).toEqual([])
  expect(edges).toEqual([
    'zone . > zone test',
    'zone test > zone harbor.test',
    'zone harbor.test > name servers ns1.harbor.test',
    'name servers ns1.harbor.test > answer 0',
    'zone harbor.test > name servers ns2.harbor.test',
    'name servers ns2.harbor.test > answer 0',
    'resolvers 192.0.2.53 > answer 0',
  ])
})

test('silent, lame and differing servers say so, and an unexpected answer is marked', () => {
  const { node } = picture(
    [
      path('ns1.harbor.test', { kind: 'timeout' }),
      path('ns2.harbor.test', { kind: 'lame', zone: 'harbor.test', nameServers: [], reason: 'it does not serve it' }),
      path('ns3.harbor.test', answer(['203.0.113.1'])),
      path('ns4.harbor.test', answer(['203.0.113.1'])),
      path('ns5.harbor.test', { kind: 'nxdomain', chain: [] }),
    ],
    {},
    { isValid: false },
  )
  expect(node('name servers ns1.harbor.test')).toMatchObject({ sign: 'No answer', tone: 'bad' })
  expect(node('name servers ns2.harbor.test')).toMatchObject({ sign: 'Lame', tone: 'bad' })
  expect(node('name servers ns5.harbor.test')).toMatchObject({ sign: 'Differs', tone: 'warn' })
  expect(node('answer 0')).toMatchObject({ title: '203.0.113.1', sign: 'Not as expected', tone: 'bad' })
  expect(node('answer 1')).toMatchObject({ title: 'NXDOMAIN', sign: 'Not what most say' })
})

test('servers of a parent zone that refer to the zone, and of the zone behind a CNAME record, are not its name servers', () => {
  const chain = [{ name: NAME, target: 'shop.provider.test', ttl: 60 }]
  const referral = { kind: 'referral' as const, nameServers: [], glue: [], ttl: 60 }
  const { nodes, node } = picture([
    path('a.nic.test', { ...referral, chain: [], zone: 'harbor.test' }),
    path('ns1.harbor.test', { ...referral, chain }),
    path('ns.provider.test', answer(['203.0.113.1']), { question: { name: 'shop.provider.test', type: 'A' } }),
    resolver(answer(['203.0.113.1'], chain)),
  ])
  expect(nodes.filter(({ column }) => column === 'name servers').map(({ title }) => title)).toEqual([
    'ns1.harbor.test',
    'ns2.harbor.test',
  ])
  expect(node('answer 0')).toMatchObject({
    title: '→ shop.provider.test',
    lines: ['203.0.113.1', 'TTL 60 s'],
    sign: undefined,
  })
})

test('each different answer is in the picture, however many servers differ', () => {
  const paths = Array.from({ length: 8 }, (_, at) => path(`ns${at}.harbor.test`, answer([`203.0.113.${at}`])))
  const { nodes, edges } = picture(paths)
  expect(nodes.filter(({ column }) => column === 'answers')).toHaveLength(8)
  for (let at = 0; at < 8; at++) expect(edges.some((edge) => edge.startsWith(`name servers ns${at}.`))).toBe(true)
})

test('the parts of a rotating RRset are one answer', () => {
  const { node, nodes } = picture([
    path('ns1.harbor.test', answer(['203.0.113.1'])),
    path('ns1.harbor.test', answer(['203.0.113.2'])),
    path('ns2.harbor.test', answer(['203.0.113.2'])),
  ])
  expect(nodes.filter(({ column }) => column === 'answers')).toHaveLength(1)
  expect(node('answer 0')).toMatchObject({ title: '203.0.113.1', sign: 'The answers rotate' })
})

test('parent servers that disagree, a denied zone, other NS records of the zone, and DNSSEC are shown at the zones', () => {
  const parents = [...DELEGATION.parents, { servers: ['c.nic.test'], name_servers: null }]
  const warnings = [
    { code: 'dnssec_bogus' as const, params: { name_servers: ['ns1.harbor.test'], cause: { kind: 'expired' } } },
  ]
  const differing = picture([], { parents, own_name_servers: ['ns1.harbor.test', 'ns9.harbor.test'] }, { warnings })
  expect(differing.node('zone test')).toMatchObject({ sign: 'Its servers differ', tone: 'warn' })
  expect(differing.node('zone harbor.test')).toMatchObject({ sign: 'DNSSEC: validation fails', tone: 'bad' })
  expect(differing.node('name servers ns2.harbor.test')).toMatchObject({ sign: 'Not in the zone' })
  expect(differing.node('name servers ns9.harbor.test')).toMatchObject({ sign: 'Not at the parent' })
  const denied = picture([], { parents: [{ servers: ['a.nic.test'], name_servers: null }] })
  expect(denied.node('zone test')).toMatchObject({ sign: 'Denies the zone', tone: 'bad' })
})

test('arrow keys go along the edges, and end at the borders', () => {
  const same = answer(['203.0.113.1'])
  const placed = layout(delegationPicture({ delegation: DELEGATION, paths: [path('ns2.harbor.test', same)] }, SHOWN)!)
  const go = (from: string, key: string) => neighbor(placed, placed.nodes.find(({ id }) => id === from)!, key)?.id
  expect(go('zone .', 'ArrowDown')).toBe('zone test')
  expect(go('zone .', 'ArrowUp')).toBeUndefined()
  expect(go('zone harbor.test', 'ArrowRight')).toBe('name servers ns1.harbor.test')
  expect(go('answer 0', 'ArrowLeft')).toBe('name servers ns2.harbor.test')
  expect(go('answer 0', 'ArrowRight')).toBeUndefined()
})

test('characters that change the direction of text, or that nobody sees, are shown', () => {
  const { node } = picture([path('ns1.harbor.test', answer(['v=spf1\u00a0-all', '\u202efdp.exe', 'c']))])
  const { title, lines, sentence } = node('answer 0')!
  expect([title, lines[0]]).toEqual(['v=spf1<U+00A0>-all', '<U+202E>fdp.exe'])
  expect(sentence).toContain('<U+202E>')
  expect(node('name servers ns1.harbor.test')!.sentence).toContain('<U+202E>')
})
