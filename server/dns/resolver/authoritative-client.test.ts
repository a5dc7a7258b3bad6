import { describe, expect, onTestFinished, test } from 'vitest'
import { givenDnsClient, givenDnsServer } from '../../testing/dns.ts'
import { type DnsTree, startDnsTree } from '../../testing/dns-server-tree.ts'
import { patientClock } from '../../testing/patient-clock.ts'
import type { Outcome } from '../outcome.ts'
import { type AuthoritativeClient, createAuthoritativeClient } from './authoritative-client.ts'
import { QueryBudget } from './query-budget.ts'

const www = { name: 'www.example.test', type: 'A' } as const

/** The root delegates `test`, and that `example.test` to two servers that hold the same. */
async function givenTree() {
  const tree = await startDnsTree()
  onTestFinished(() => tree.close())
  const [tld] = await tree.zone('test', ['a.nic.test'])
  const [one, other] = await tree.zone('example.test', ['ns1.example.test', 'ns2.example.test'], [tld!])
  for (const server of [one!, other!]) server.set('www.example.test', 'A', ['192.0.2.1'])
  return { tree, root: tree.root, tld: tld!, one: one!, other: other! }
}

function givenAuthorities({ root }: DnsTree, timeoutMs = 300): AuthoritativeClient {
  const dns = givenDnsClient([])
  return createAuthoritativeClient({ dns, clock: patientClock, roots: [root.address], timeoutMs })
}

const valuesOf = (outcome: Outcome) => (outcome.kind === 'answer' ? outcome.rrset.values : outcome.kind)

describe('following the delegation', () => {
  test('leads from the root to the name servers of the zone', async () => {
    const { tree } = await givenTree()
    const reply = await givenAuthorities(tree).query(www)
    expect(reply).toMatchObject({
      outcome: { kind: 'answer', rrset: { values: ['192.0.2.1'] }, chain: [] },
      zone: 'example.test',
      nameServers: ['ns1.example.test', 'ns2.example.test'],
      isFromCache: false,
    })
    expect(reply.evidence.map(({ outcome }) => outcome?.kind)).toEqual(['referral', 'referral', 'answer'])
    expect(reply.evidence.at(-1)).toMatchObject({ path: 'authoritative', name: reply.nameServer, flags: ['aa'] })
  })

  test('remembers it for its TTL', async () => {
    const { tree, root, tld } = await givenTree()
    const authorities = givenAuthorities(tree)
    await authorities.query(www)
    const { isFromCache, evidence } = await authorities.query({ name: 'mail.example.test', type: 'MX' })
    expect(isFromCache).toBe(true)
    expect(evidence).toHaveLength(1)
    expect([root.queries.total, tld.queries.total]).toEqual([1, 1])
    expect((await authorities.query(www, { fresh: true })).isFromCache).toBe(false)
    expect([root.queries.total, tld.queries.total]).toEqual([1, 2])
  })

  test('is done once for all who ask the same at the same time', async () => {
    const { tree, root, tld, one, other } = await givenTree()
    const authorities = givenAuthorities(tree)
    const replies = await Promise.all(Array.from({ length: 100 }, () => authorities.query(www)))
    expect(new Set(replies.map(({ outcome }) => outcome.kind))).toEqual(new Set(['answer']))
    expect([root, tld].map(({ queries }) => queries.total)).toEqual([1, 1])
    expect(one.queries.total + other.queries.total).toBe(1)
  })

  test('forgets it when its TTL is over', async () => {
    const { tree, tld, one } = await givenTree()
    tld.delegate('example.test', { 'ns1.example.test': [one.address.ip] }, { ttl: 0 })
    const authorities = givenAuthorities(tree)
    await authorities.query(www)
    await authorities.query(www)
    expect(tld.queries.total).toBe(2)
  })

  test('asks the parent again when the servers that it remembers are no longer the right ones', async () => {
    const { tree, tld, one, other } = await givenTree()
    const authorities = givenAuthorities(tree)
    await authorities.query(www)
    const [moved] = await tree.zone('example.test', ['ns.new.test'], [])
    moved!.set('www.example.test', 'A', ['192.0.2.9'])
    tld.delegate('example.test', { 'ns.new.test': [moved!.address.ip] })
    for (const old of [one, other]) old.fail('*', 'REFUSED')
    expect(valuesOf((await authorities.query(www)).outcome)).toEqual(['192.0.2.9'])
  })

  test('each firstServer begins at another server', async () => {
    const { tree } = await givenTree()
    const authorities = givenAuthorities(tree)
    const replies = [await authorities.query(www), await authorities.query(www, { firstServer: 1 })]
    expect(replies.map(({ nameServer }) => nameServer).sort()).toEqual(['ns1.example.test', 'ns2.example.test'])
  })

  test.each(['REFUSED', 'SERVFAIL', 'silence', 'nothing there'])('goes on behind a server with %s', async (fault) => {
    const { tree, one } = await givenTree()
    if (fault === 'silence') one.drop('*')
    else if (fault === 'nothing there') await one.close()
    else one.fail('*', fault)
    const authorities = givenAuthorities(tree, 100)
    for (const firstServer of [0, 1]) {
      const { outcome, nameServer } = await authorities.query(www, { firstServer })
      expect([valuesOf(outcome), nameServer]).toEqual([['192.0.2.1'], 'ns2.example.test'])
    }
  })

  test('asks the zone above for DS, also when the way to the zone itself is known', async () => {
    const { tree, root, tld, one, other } = await givenTree()
    const ds = { name: 'example.test', type: 'DS' } as const
    for (const child of [one, other]) child.set('example.test', 'DS', [])
    tld.set('example.test', 'DS', [`\\# 24 ec450501${'2bb183af5f22588179a53b0a98631fad1a292118'}`])
    root.set('test', 'DS', [])
    const authorities = givenAuthorities(tree)
    await authorities.query(www)
    for (const options of [{}, { fresh: true }]) {
      const { outcome, zone } = await authorities.query(ds, options)
      expect([valuesOf(outcome), zone]).toEqual([['60485 5 1 2bb183af5f22588179a53b0a98631fad1a292118'], 'test'])
    }
    expect(one.queries.count('example.test', 'DS') + other.queries.count('example.test', 'DS')).toBe(0)
    expect(await authorities.query({ name: 'test', type: 'DS' })).toMatchObject({
      outcome: { kind: 'nodata' },
      zone: '',
    })
  })

  test('goes down to the zone above for DS below other zones, and takes a referral to the zone itself for none', async () => {
    const { tree, one, other } = await givenTree()
    await tree.zone('sub.example.test', ['ns.sub.example.test'], [one, other])
    const { outcome, zone } = await givenAuthorities(tree).query({ name: 'sub.example.test', type: 'DS' })
    expect([outcome, zone]).toEqual([{ kind: 'nodata', chain: [] }, 'example.test'])
  })

  test('an alias into another zone is followed from the root', async () => {
    const { tree, tld, one, other } = await givenTree()
    const [cdn] = await tree.zone('cdn.test', ['ns.cdn.test'], [tld])
    cdn!.set('edge.cdn.test', 'A', ['198.51.100.1'])
    for (const server of [one, other]) {
      server.set('www.example.test', 'CNAME', ['edge.cdn.test'])
      server.set('edge.cdn.test', 'A', ['203.0.113.66']) // not theirs to say
    }
    const { outcome, zone } = await givenAuthorities(tree).query(www)
    expect(outcome).toMatchObject({ rrset: { values: ['198.51.100.1'] }, chain: [{ target: 'edge.cdn.test' }] })
    expect(zone).toBe('example.test')
  })

  test('an alias into another zone that comes with its target is still asked for there', async () => {
    const { tree, tld, one, other } = await givenTree()
    const [cdn] = await tree.zone('cdn.test', ['ns.cdn.test'], [tld])
    cdn!.set('edge.cdn.test', 'A', ['198.51.100.1'])
    for (const server of [one, other]) {
      server.followCnames()
      server.set('www.example.test', 'CNAME', ['edge.cdn.test'])
      server.set('edge.cdn.test', 'A', ['203.0.113.66'])
    }
    expect(valuesOf((await givenAuthorities(tree).query(www)).outcome)).toEqual(['198.51.100.1'])
  })

  test.each([
    [16, 'answer'],
    [17, 'cname_loop'],
  ])('a chain of %i aliases over two zones is %s', async (length, kind) => {
    const { tree, tld, one, other } = await givenTree()
    const [far] = await tree.zone('far.test', ['ns.far.test'], [tld])
    const nameOf = (at: number) => (at === 0 ? www.name : `n${at}.${at % 2 ? 'far' : 'example'}.test`)
    for (const server of [one, other, far!]) {
      for (let at = 0; at < length; at++) server.set(nameOf(at), 'CNAME', [nameOf(at + 1)])
      server.set(nameOf(length), 'A', ['192.0.2.7'])
    }
    expect((await givenAuthorities(tree).query(www)).outcome.kind).toBe(kind)
  })
})

describe('a name server with a rate limit', () => {
  test.each(['another name', 'a name that the first one asks too'])(
    'is shared in turns: many queries of one organization delay those of another by one, for %s',
    async (which) => {
      const tree = await startDnsTree()
      onTestFinished(() => tree.close())
      const [tld] = await tree.zone('test', ['a.nic.test'])
      const [server] = await tree.zone('example.test', ['ns1.example.test'], [tld!])
      server!.set('*.example.test', 'A', ['192.0.2.1'])
      const dns = givenDnsClient([], { queriesPerSecond: 20 })
      const client = createAuthoritativeClient({ dns, clock: patientClock, roots: [tree.root.address] })
      await client.query({ name: 'first.example.test', type: 'A' })
      let ended = 0
      const flood = Array.from({ length: 60 }, async (_, at) => {
        await client.query({ name: `n${at}.example.test`, type: 'A' }, { group: 'org_a' })
        ended++
      })
      const name = which === 'another name' ? 'other.example.test' : 'n59.example.test'
      const { outcome } = await client.query({ name, type: 'A' }, { group: 'org_b' })
      expect(valuesOf(outcome)).toEqual(['192.0.2.1'])
      expect(ended).toBeLessThanOrEqual(25)
      await Promise.all(flood)
    },
  )

  test('zones of one organization below a public suffix do not delay the delegations of another', async () => {
    const tree = await startDnsTree()
    onTestFinished(() => tree.close())
    const [tld] = await tree.zone('test', ['a.nic.test'])
    const [suffix] = await tree.zone('co.test', ['a.nic.co.test'], [tld!])
    const [silent] = await tree.zone('silent.co.test', ['ns1.silent.co.test'], [suffix!])
    const [server] = await tree.zone('example.co.test', ['ns1.example.co.test'], [suffix!])
    silent!.drop('*')
    server!.set('www.example.co.test', 'A', ['192.0.2.1'])
    const client = givenAuthorities(tree, 500)
    const view = (name: string, group: string) => client.zoneView({ name, type: 'A' }, { fresh: true, group })
    let isOver = false
    const slow = view('www.silent.co.test', 'org_a').then(() => {
      isOver = true
    })
    expect((await view('www.example.co.test', 'org_b'))!.zone).toBe('example.co.test')
    expect(isOver).toBe(false)
    await slow
  })
})

describe('name servers', () => {
  test('in another zone are looked up there', async () => {
    const { tree, tld } = await givenTree()
    const [provider] = await tree.zone('provider.test', ['ns.provider.test'], [tld])
    const hosting = await tree.server(['hosted.test'])
    provider!.set('dns1.provider.test', 'A', [hosting.address.ip])
    hosting.set('www.hosted.test', 'A', ['192.0.2.3'])
    tld.delegate('hosted.test', { 'dns1.provider.test': [] })
    const { outcome, nameServer } = await givenAuthorities(tree).query({ name: 'www.hosted.test', type: 'A' })
    expect([valuesOf(outcome), nameServer]).toEqual([['192.0.2.3'], 'dns1.provider.test'])
  })

  test('with an IPv6 address alone are asked there', async () => {
    const { tree, root, tld } = await givenTree()
    const six = await givenDnsServer({ ip: '::1', port: root.address.port, authoritative: true, zones: ['six.test'] })
    six.set('www.six.test', 'A', ['192.0.2.6'])
    tld.delegate('six.test', { 'ns.six.test': ['::1'] })
    const { outcome, evidence } = await givenAuthorities(tree).query({ name: 'www.six.test', type: 'A' })
    expect([valuesOf(outcome), evidence.at(-1)?.server]).toEqual([['192.0.2.6'], `[::1]:${root.address.port}`])
  })

  test('get no address from who does not speak for their zone', async () => {
    const { tree, root, tld, one, other } = await givenTree()
    const forger = await tree.server(['victim.example.test'])
    forger.set('victim.example.test', 'A', ['203.0.113.66'])
    const [net] = await tree.zone('net', ['ns.net'], [root])
    const honest = await tree.server(['victim.example.test'])
    honest.set('victim.example.test', 'A', ['192.0.2.4'])
    net!.set('dns.net', 'A', [honest.address.ip])
    for (const server of [one, other]) server.delegate('victim.example.test', { 'dns.net': [forger.address.ip] })
    const { outcome } = await givenAuthorities(tree).query({ name: 'victim.example.test', type: 'A' })
    expect(valuesOf(outcome)).toEqual(['192.0.2.4'])
    expect(tld.queries.total).toBeGreaterThan(0)
  })

  test.each([
    ['refuse the zone', 'do not serve it'],
    ['answer without authority', 'do not serve it'],
    ['refer upwards', 'do not serve it'],
    ['have no address', 'have no usable address'],
    ['are named in a circle', 'have no usable address'],
  ])('that %s make the zone lame', async (fault, words) => {
    const { tree, root, tld, one, other } = await givenTree()
    for (const server of [one, other]) {
      if (fault === 'refuse the zone') server.fail('*', 'REFUSED')
      if (fault === 'refer upwards') server.delegate('', { 'root.test': [root.address.ip] })
    }
    if (fault === 'answer without authority') {
      const cache = await tree.server()
      cache.set('www.example.test', 'A', ['192.0.2.1'])
      tld.delegate('example.test', { 'ns1.example.test': [cache.address.ip] })
    }
    if (fault === 'have no address') tld.delegate('example.test', { 'ns.gone.test': [] })
    if (fault === 'are named in a circle') {
      tld.delegate('example.test', { 'ns.other.test': [] })
      tld.delegate('other.test', { 'ns.example.test': [] })
    }
    const { outcome } = await givenAuthorities(tree).query(www)
    expect(outcome).toMatchObject({ kind: 'lame', zone: 'example.test', reason: expect.stringContaining(words) })
  })

  test('that are silent are a timeout after a few questions', async () => {
    const { tree, one, other } = await givenTree()
    for (const server of [one, other]) server.drop('*')
    expect((await givenAuthorities(tree, 100).query(www)).outcome).toEqual({ kind: 'timeout' })
    expect(one.queries.total + other.queries.total).toBeLessThanOrEqual(8)
  })

  test('of which one is lame and one is silent are no proof that the zone is lame', async () => {
    const { tree, one, other } = await givenTree()
    one.fail('*', 'REFUSED')
    other.drop('*')
    expect((await givenAuthorities(tree, 100).query(www)).outcome).toMatchObject({ kind: 'failure', rcode: 'REFUSED' })
  })

  test('that lead to ever more name servers end with the budget', async () => {
    const { tree, root } = await givenTree()
    const names = (level: number) => Array.from({ length: 13 }, (_, at) => [`n${at}.z${level + 1}.bomb`, []])
    for (let level = 0; level < 6; level++) root.delegate(`z${level}.bomb`, Object.fromEntries(names(level)))
    const before = root.queries.total
    const { outcome } = await givenAuthorities(tree).query({ name: 'www.z0.bomb', type: 'A' })
    expect(['timeout', 'lame']).toContain(outcome.kind)
    expect(root.queries.total - before).toBeLessThan(100)
  })
})

test('the resolutions of one check share a budget, and those after it are busy', async () => {
  const { tree, root } = await givenTree()
  const names = (level: number) => Array.from({ length: 13 }, (_, at) => [`n${at}.z${level + 1}.bomb`, []])
  for (let level = 0; level < 6; level++) root.delegate(`z${level}.bomb`, Object.fromEntries(names(level)), { ttl: 0 })
  const authorities = givenAuthorities(tree)
  const before = root.queries.total
  const budget = new QueryBudget()
  const replies = []
  for (let sample = 0; sample < 20; sample++) {
    replies.push(await authorities.query({ name: `w${sample}.z0.bomb`, type: 'A' }, { budget }))
  }
  expect(root.queries.total - before).toBeLessThanOrEqual(220) // resolutions in parallel may exceed it by a few
  expect(replies.at(-1)).toMatchObject({ isBusy: true })
})

test('name servers without a known address are not resolved if that is not wanted', async () => {
  const { tree, root } = await givenTree()
  root.delegate('glueless.test', { 'ns.z1.bomb': [] })
  const before = root.queries.total
  await givenAuthorities(tree).query({ name: 'www.glueless.test', type: 'A' }, { resolvesNameServers: false })
  expect(root.queries.log.slice(before - root.queries.total).filter(({ name }) => name.endsWith('bomb'))).toEqual([])
})

describe('where port 53 is', () => {
  test('blocked, the root servers are probed once for all checks', async () => {
    const { tree, root } = await givenTree()
    root.drop('*')
    const authorities = givenAuthorities(tree, 100)
    const troubles = await Promise.all(Array.from({ length: 20 }, () => authorities.findRootProblem()))
    expect(new Set(troubles)).toEqual(new Set(['root_servers_unreachable']))
    expect(await authorities.findRootProblem()).toBe(troubles[0])
    expect(root.queries.total).toBe(1)
  })

  test('intercepted, what answers for the root is not believed', async () => {
    const { tree } = await givenTree()
    const inBetween = await tree.server()
    inBetween.set('', 'SOA', ['root. hostmaster. 1 2 3 4 5'])
    expect(await givenAuthorities({ ...tree, root: inBetween }).findRootProblem()).toBe('queries_intercepted')
  })

  test('open, nothing is in the way', async () => {
    const { tree } = await givenTree()
    expect(await givenAuthorities(tree).findRootProblem()).toBeUndefined()
  })
})
