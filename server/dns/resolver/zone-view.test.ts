import { describe, expect, onTestFinished, test } from 'vitest'
import { givenDnsClient } from '../../testing/dns.ts'
import { startDnsTree } from '../../testing/dns-server-tree.ts'
import { patientClock } from '../../testing/patient-clock.ts'
import { createAuthoritativeClient } from './authoritative-client.ts'

const www = { name: 'www.example.test', type: 'A' } as const

/** The root delegates `test` to three servers, and these delegate `example.test`. The time passes only in `advance`. */
async function givenZone(nameServers = ['ns1.example.test', 'ns2.example.test']) {
  const tree = await startDnsTree()
  onTestFinished(() => tree.close())
  const parents = await tree.zone('test', ['a.nic.test', 'b.nic.test', 'c.nic.test'])
  const servers = await tree.zone('example.test', nameServers, parents)
  for (const server of servers) server.set('www.example.test', 'A', ['192.0.2.1'])
  let passed = 0
  const clock = { ...patientClock, elapsed: () => patientClock.elapsed() + passed }
  const dns = givenDnsClient([])
  const client = createAuthoritativeClient({ dns, clock, roots: [tree.root.address], timeoutMs: 300 })
  return {
    tree,
    parents,
    servers,
    fresh: (question = www as { name: string; type: 'A' }) => client.zoneView(question, { fresh: true }),
    recent: (number = 0) => client.zoneView(www, { fresh: false, number }),
    client,
    advance: (ms: number) => {
      passed += ms
    },
    asked: () => parents.reduce((sum, { queries }) => sum + queries.total, 0),
  }
}

const namesOf = (view: { nameServers: { name: string }[] } | undefined) => view?.nameServers.map(({ name }) => name)

describe('the view of a zone', () => {
  test('holds what each server of the parent says, and the NS records of the zone itself', async () => {
    const { fresh } = await givenZone()
    const view = await fresh()
    expect(view).toMatchObject({ zone: 'example.test', isDenied: false, isUnknown: false, ttl: 300 })
    expect(namesOf(view)).toEqual(['ns1.example.test', 'ns2.example.test'])
    expect(view!.ownNameServers).toEqual(['ns1.example.test', 'ns2.example.test'])
    expect(view!.parents.map(({ server }) => server).sort()).toEqual(['a.nic.test', 'b.nic.test', 'c.nic.test'])
  })

  test('shows that the servers of the parent disagree, and follows most of them', async () => {
    const { parents, tree, fresh } = await givenZone()
    const [moved] = await tree.zone('example.test', ['ns.new.test'], parents.slice(0, 2))
    moved!.set('www.example.test', 'A', ['192.0.2.2'])
    const view = await fresh()
    expect(new Set(view!.parents.map(({ nameServers }) => nameServers?.join()))).toEqual(
      new Set(['ns.new.test', 'ns1.example.test,ns2.example.test']),
    )
    expect(namesOf(view)).toEqual(['ns.new.test'])
  })

  test('is denied when most servers of the parent answer NXDOMAIN', async () => {
    const { parents, fresh } = await givenZone()
    for (const parent of parents.slice(1)) parent.undelegate('example.test')
    expect(await fresh()).toMatchObject({ zone: 'test', isDenied: true })
  })

  test('is of the parent zone when all of its servers answer NXDOMAIN', async () => {
    const { parents, fresh } = await givenZone()
    for (const parent of parents) parent.undelegate('example.test')
    expect(await fresh()).toMatchObject({ zone: 'test', isDenied: false })
  })

  test('holds at most 100 names of what each server gives, however many there are', async () => {
    const { parents, servers, fresh } = await givenZone()
    const names = Array.from({ length: 400 }, (_, index) => `ns${1000 + index}.example.test`)
    const { ip } = servers[0]!.address
    for (const parent of parents) parent.delegate('example.test', Object.fromEntries(names.map((name) => [name, [ip]])))
    servers[0]!.set('example.test', 'NS', names)
    const { nameServers, ownNameServers, parents: given } = (await fresh())!
    expect(nameServers).toHaveLength(13)
    expect([ownNameServers, ...given.map((one) => one.nameServers)]).toEqual(Array(4).fill(names.slice(0, 100)))
  })

  test('is unknown while no server of the parent answers', async () => {
    const { parents, fresh } = await givenZone()
    for (const parent of parents) parent.drop('*')
    expect(await fresh()).toMatchObject({ isUnknown: true })
  })

  test('is unknown while all servers of the parent refuse to answer', async () => {
    const { parents, fresh, servers } = await givenZone()
    for (const parent of parents) parent.fail('*', 'REFUSED')
    expect(await fresh()).toMatchObject({ isUnknown: true })
    expect(servers.map(({ queries }) => queries.total)).toEqual([0, 0])
  })

  test('is what the other servers of the parent say while one refuses to answer', async () => {
    const { parents, fresh } = await givenZone()
    parents[0]!.fail('*', 'REFUSED')
    const view = await fresh()
    expect(view).toMatchObject({ zone: 'example.test', isUnknown: false })
    expect(view!.parents.map(({ server }) => server).sort()).toEqual(['b.nic.test', 'c.nic.test'])
  })

  test('is shared for some seconds by the names of the zone', async () => {
    const { fresh, asked, advance } = await givenZone()
    await Promise.all(Array.from({ length: 50 }, (_, index) => fresh({ name: `w${index}.example.test`, type: 'A' })))
    expect(asked()).toBe(3)
    advance(6_000)
    await fresh()
    expect(asked()).toBe(6)
  })

  test('is confirmed once an hour by one server of the parent', async () => {
    const { recent, asked, advance } = await givenZone()
    await recent()
    await recent()
    expect(asked()).toBe(1)
    advance(60 * 60_000)
    await recent(1)
    expect(asked()).toBe(2)
  })

  test('is asked of all servers of the parent when one of them gives another delegation', async () => {
    const { tree, parents, recent, asked, advance } = await givenZone()
    await recent()
    await tree.zone('example.test', ['ns.new.test'], parents)
    advance(60 * 60_000)
    const view = await recent()
    expect([namesOf(view), view!.parents.length, view!.changedAt !== undefined]).toEqual([['ns.new.test'], 3, true])
    expect(asked()).toBe(5)
  })

  test('leads to a zone below, whose parent is not a top-level domain', async () => {
    const { tree, servers, fresh, asked } = await givenZone()
    const [child] = await tree.zone('sub.example.test', ['ns.sub.example.test'], servers)
    child!.set('a.sub.example.test', 'A', ['192.0.2.7'])
    const view = await fresh({ name: 'a.sub.example.test', type: 'A' })
    expect([view!.zone, view!.parents.length]).toEqual(['sub.example.test', 2])
    expect(asked()).toBe(3)
  })
})

test('a query to one name server of a view is answered by this one alone', async () => {
  const { servers, fresh, client } = await givenZone()
  servers[0]!.fail('*', 'REFUSED')
  servers[1]!.set('www.example.test', 'A', ['192.0.2.9'])
  const view = (await fresh())!
  const replies = await Promise.all([0, 1].map((server) => client.query(www, { at: { view, server } })))
  expect(replies.map(({ outcome }) => outcome.kind)).toEqual(['lame', 'answer'])
  expect(replies[1]).toMatchObject({
    nameServer: 'ns2.example.test',
    nameServers: ['ns1.example.test', 'ns2.example.test'],
  })
})
