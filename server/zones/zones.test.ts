import { expect, test } from 'vitest'
import type { Zone } from '#contract/zones.ts'
import { claimDue } from '../queue/lease-queue.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'
import { absentFacts, firstServer, healthyAnswer, healthyFacts, NOW, SOA, secondServer } from '../testing/zone-facts.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, toIso } from '../times.ts'
import type { ZoneFacts } from './facts.ts'
import type { Look } from './look.ts'
import { recordLook, type ZoneClaim } from './record-look.ts'
import { deleteOldZoneEvents } from './retention.ts'
import { createSharedLooks, processZone } from './worker.ts'
import { nextRegularLook } from './zone.ts'

const ENGINES = ['sqlite', 'postgres'] as const
const SILENT = (): ZoneFacts =>
  healthyFacts({ servers: [healthyFacts().servers[0]!, secondServer({ response: { kind: 'silent' } })] })

async function givenZones(engine: (typeof ENGINES)[number], settings = {}) {
  const world = await givenApp(engine, settings)
  const { db } = world.deps
  const create = async (name: string) => (await world.call('/zones', { method: 'POST', body: { name } })).body as Zone
  /** All zones are looked at, whether due or not, and have these facts. */
  async function look(at: number, facts: ZoneFacts | undefined) {
    await db.updateTable('due_zones').set({ due_at: at, claimed_by: null }).execute()
    for (const claim of await claimDueZones(world, at)) {
      const seen: Look = facts ? { kind: 'facts', facts: { ...facts, at } } : { kind: 'withheld', reason: 'network' }
      await recordLook(db, claim, seen, at)
    }
  }
  const due = () => db.selectFrom('due_zones').selectAll().executeTakeFirstOrThrow()
  const read = async (path = '') => (await world.call(`/zones/example.com${path}`)).body
  return { world, db, create, look, due, read }
}

const claimDueZones = ({ deps: { db } }: TestApp, now: number, process = 1): Promise<ZoneClaim[]> =>
  claimDue(db, 'due_zones', { now, process, limit: 10 })

onBothEngines('zones', (_, engine) => {
  test('a zone is added, read by id and by name, listed and deleted', async () => {
    const { world, create, read, due } = await givenZones(engine)
    const created = await create('Example.COM.')
    expect(created).toMatchObject({ name: 'example.com', health: 'unknown', checked: null, servers: [], dnssec: null })
    expect(await read()).toEqual(created)
    expect((await world.call(`/zones/${created.id}`)).body).toEqual(created)
    expect((await world.call('/zones?health=unknown&order_by=name')).body.data).toEqual([created])
    expect((await world.call('/zones?health=ok')).body.data).toEqual([])
    expect((await world.call('/zones?name=EXAMPLE.com.')).body.data).toEqual([created])
    expect((await world.call('/zones?name=example.net')).body.data).toEqual([])
    expect(await due()).toMatchObject({ name: 'example.com', claimed_by: null })

    expect((await world.call('/zones/example.com', { method: 'DELETE' })).status).toBe(204)
    expect((await world.call('/zones/example.com')).status).toBe(404)
    expect(await claimDueZones(world, Date.now() + DAY_MS)).toEqual([])
  })

  test('a zone goes dark when its first signature expires, or the copy of a secondary that stays behind', async () => {
    const { create, look, read } = await givenZones(engine)
    await create('example.com')
    await look(NOW, healthyFacts())
    const at = toIso(NOW + 13 * DAY_MS)
    expect((await read()).goes_dark).toMatchObject({ at, reason: 'signature_expires', record_type: 'SOA' })
    const behind = secondServer({ response: healthyAnswer({ soa: { ...SOA, serial: 99 } }) })
    await look(NOW + HOUR_MS, healthyFacts({ servers: [firstServer(), behind] }))
    const expiresAt = toIso(NOW + HOUR_MS + SOA.expire * 1000)
    expect((await read()).goes_dark).toMatchObject({
      ...{ at: expiresAt, reason: 'secondary_expires', name_server: 'ns2.example.net', record_type: null },
    })
    await look(NOW + 2 * HOUR_MS, healthyFacts({ ds: [] }))
    expect((await read()).goes_dark).toBeNull()
  })

  test('findings are paged, the most serious first', async () => {
    const { create, look, read } = await givenZones(engine)
    await create('example.com')
    const withoutTcp = firstServer({ response: healthyAnswer({ tcp: false }) })
    await look(NOW, healthyFacts({ servers: [withoutTcp, secondServer({ response: { kind: 'silent' } })] }))
    const { data: all, ...page } = await read('/findings')
    expect(page).toEqual({ limit: 20, after: null, before: null, has_more: false })
    expect(all.map(({ level }: { level: string }) => level)).toEqual(['error', 'warning'])
    const first = await read('/findings?limit=1')
    const second = await read(`/findings?limit=1&after=${first.after}`)
    expect([...first.data, ...second.data]).toEqual(all)
    expect((await read(`/findings?limit=1&before=${second.before}`)).data).toEqual(first.data)
    expect((await read('/findings?order_way=desc')).data).toEqual(all.toReversed())
    expect((await read(`/findings?limit=2&after=${first.after}x`)).code).toBe(400)
  })

  test('many zones are added at once, all or none, and those that exist stay as they are', async () => {
    const { world, create, db } = await givenZones(engine)
    const existing = await create('example.com')
    const post = (names: string[]) => world.call('/zones/bulk', { method: 'POST', body: { names } })
    const names = Array.from({ length: 500 }, (_, index) => `zone${index}.example`)
    const added = await post([...names, 'example.com', 'ZONE0.example.'])
    expect([added.status, added.body.length]).toEqual([201, 501])
    expect(added.body.map(({ name }: Zone) => name)).toEqual([...names, 'example.com'])
    expect(added.body.at(-1)).toEqual(existing)
    expect(await db.selectFrom('due_zones').selectAll().execute()).toHaveLength(501)

    const refused = await post(['example.org', 'com', 'a..b'])
    expect([refused.status, Object.keys(refused.body.errors)]).toEqual([400, ['names.1', 'names.2']])
    expect((await world.call('/zones?name=example.org')).body.data).toEqual([])
  })

  test('a zone of another organization does not exist', async () => {
    const { world, create } = await givenZones(engine)
    const { id } = await create('example.com')
    const { key } = await world.organization('Other')
    for (const path of [id, 'example.com', `${id}/findings`, `${id}/events`])
      expect((await world.call(`/zones/${path}`, { key })).status).toBe(404)
    expect((await world.call('/zones', { key })).body.data).toEqual([])
    expect((await world.call('/zones', { method: 'POST', key, body: { name: 'example.com' } })).status).toBe(201)
  })

  test('two looks confirm a finding, and two end it', async () => {
    const { create, look, read, due, world } = await givenZones(engine)
    await create('example.com')
    await look(NOW, SILENT())
    expect(await read()).toMatchObject({ health: 'ok', checked: toIso(NOW) })
    expect((await read('/findings')).data).toMatchObject([{ code: 'name_server_silent', confirmed: null }])
    expect((await due()).due_at).toBeLessThanOrEqual(NOW + 5 * MINUTE_MS)

    await look(NOW + 5 * MINUTE_MS, SILENT())
    expect(await read()).toMatchObject({ health: 'error', findings: { error: 1 } })
    const [finding] = (await read('/findings')).data
    expect(finding).toMatchObject({
      code: 'name_server_silent',
      about: 'ns2.example.net',
      level: 'error',
      text: 'ns2.example.net (198.51.100.2) does not respond.',
      since: toIso(NOW),
      confirmed: toIso(NOW + 5 * MINUTE_MS),
      ignored: null,
    })
    expect(finding.evidence.map(({ seen }: { seen: string }) => seen)).toEqual([toIso(NOW), finding.confirmed])
    expect((await world.call('/zones?health=error')).body.data).toHaveLength(1)

    await look(NOW + HOUR_MS, healthyFacts())
    expect((await read()).health).toBe('error')
    await look(NOW + HOUR_MS + 5 * MINUTE_MS, healthyFacts())
    expect(await read()).toMatchObject({ health: 'ok', findings: { error: 0 } })
    expect((await read('/events')).data).toMatchObject([
      { kind: 'began', code: 'name_server_silent', occurred: toIso(NOW + 5 * MINUTE_MS) },
      { kind: 'ended', code: 'name_server_silent', about: 'ns2.example.net' },
    ])
  })

  test('a look that finds nothing new writes one row', async () => {
    const { world, create, look, db } = await givenZones(engine)
    await create('example.com')
    await look(NOW, healthyFacts())
    const contents = async () =>
      JSON.stringify([
        await db.selectFrom('zones').selectAll().execute(),
        await db.selectFrom('zone_findings').selectAll().execute(),
      ])
    const before = await contents()
    world.statements.clear()
    await look(NOW + HOUR_MS, healthyFacts())
    expect(await contents()).toBe(before)
    const writes = [...world.statements].filter((text) => /^\s*(update|insert|delete|with)/i.test(text))
    expect(writes.filter((text) => !text.includes('due_zones'))).toEqual([])
  })

  test('name servers are learned, and others are critical until somebody confirms them', async () => {
    const { world, create, look, read } = await givenZones(engine)
    await create('example.com')
    await look(NOW, healthyFacts())
    const names = ['ns1.example.com', 'ns2.example.net']
    expect(await read()).toMatchObject({ expected_name_servers: names, name_servers_confirmed: null })
    const hijacked = healthyFacts({ delegation: { nameServers: [...names, 'ns.evil.example'] } })
    await look(NOW + HOUR_MS, hijacked)
    await look(NOW + HOUR_MS + MINUTE_MS, hijacked)
    expect((await read()).health).toBe('critical')

    const body = { expected_name_servers: [...names, 'NS.evil.example.'] }
    const changed = await world.call('/zones/example.com', { method: 'PATCH', body })
    expect(changed.body.expected_name_servers).toEqual(['ns.evil.example', ...names])
    expect(changed.body.name_servers_confirmed).not.toBeNull()
    await look(NOW + 2 * HOUR_MS, hijacked)
    await look(NOW + 2 * HOUR_MS + MINUTE_MS, hijacked)
    expect((await read()).findings.critical).toBe(0)
  })

  test('a zone that was delegated is gone', async () => {
    const { create, look, read } = await givenZones(engine)
    await create('example.com')
    await look(NOW, absentFacts())
    await look(NOW + 5 * MINUTE_MS, absentFacts())
    expect((await read('/findings')).data).toMatchObject([{ code: 'not_a_zone', level: 'error' }])
    await look(NOW + HOUR_MS, healthyFacts())
    await look(NOW + 2 * HOUR_MS, absentFacts())
    await look(NOW + 2 * HOUR_MS + MINUTE_MS, absentFacts())
    expect((await read('/findings')).data).toMatchObject([{ code: 'zone_gone', level: 'critical' }])
  })

  test('an ignored finding does not count, until its end', async () => {
    const { world, create, look, read, due } = await givenZones(engine)
    await create('example.com')
    await look(NOW, SILENT())
    await look(NOW + 5 * MINUTE_MS, SILENT())
    const until = Date.now() + 10 * MINUTE_MS
    const ignored = {
      code: 'name_server_silent',
      about: 'NS2.example.net',
      reason: 'Moves today.',
      until: toIso(until),
    }
    const { body } = await world.call('/zones/example.com', { method: 'PATCH', body: { ignored: [ignored] } })
    expect(body).toMatchObject({
      health: 'ok',
      findings: { error: 0, ignored: 1 },
      ignored: [{ ...ignored, about: 'ns2.example.net' }],
    })
    expect((await read('/findings')).data[0].ignored).toEqual({ reason: 'Moves today.', until: toIso(until) })
    await look(until - MINUTE_MS, SILENT())
    expect((await due()).due_at).toBe(Math.min(until, nextRegularLook('example.com', until - MINUTE_MS)))
    await look(until, SILENT())
    expect((await read()).health).toBe('error')
  })

  test('what cannot be looked at is withheld, and nothing begins or ends', async () => {
    const { create, look, read, due } = await givenZones(engine)
    await create('example.com')
    await look(NOW, SILENT())
    await look(NOW + 5 * MINUTE_MS, SILENT())
    await look(NOW + 10 * MINUTE_MS, undefined)
    await look(NOW + 15 * MINUTE_MS, undefined)
    expect(await read()).toMatchObject({
      health: 'error',
      checked: toIso(NOW + 5 * MINUTE_MS),
      withheld: { since: toIso(NOW + 10 * MINUTE_MS), reason: 'network' },
    })
    expect((await due()).due_at).toBeLessThanOrEqual(NOW + 20 * MINUTE_MS)
    await look(NOW + 20 * MINUTE_MS, SILENT())
    expect(await read()).toMatchObject({ withheld: null, health: 'error' })
  })

  test('a change during a look discards it, and a claim of a dead process is taken over', async () => {
    const { world, db, create, read } = await givenZones(engine)
    await create('example.com')
    const now = Date.now() + MINUTE_MS
    const [first] = await claimDueZones(world, now, 1)
    expect(await claimDueZones(world, now, 2)).toEqual([])
    await world.call('/zones/example.com/check', { method: 'POST' })
    await recordLook(db, first!, { kind: 'facts', facts: healthyFacts({ at: now }) }, now)
    expect((await read()).checked).toBeNull()
    const [second] = await claimDueZones(world, now, 2)
    const [third] = await claimDueZones(world, now + 61_000, 3)
    const facts = healthyFacts({ at: now })
    await recordLook(db, second!, { kind: 'facts', facts }, now)
    expect((await read()).checked).toBeNull()
    await recordLook(db, third!, { kind: 'facts', facts }, now)
    expect((await read()).checked).toBe(toIso(now))
  })

  test('events are kept as long as those of monitors', async () => {
    const { world, create, look, read } = await givenZones(engine)
    await create('example.com')
    await look(NOW, SILENT())
    await look(NOW + 5 * MINUTE_MS, SILENT())
    await world.call('/organization', { method: 'PATCH', body: { settings: { event_retention_days: 30 } } })
    const run = (now: number) =>
      deleteOldZoneEvents(
        { ...world.deps, clock: { ...world.deps.clock, now: () => now } },
        new AbortController().signal,
      )
    await run(NOW + 29 * DAY_MS)
    expect((await read('/events')).data).toHaveLength(1)
    await run(NOW + 31 * DAY_MS)
    expect((await read('/events')).data).toEqual([])
  })
})

test.each([
  ['com', 'must be the name of a zone below a top-level domain, like example.com, not com.'],
  ['.', 'must be the name of a zone below a top-level domain, like example.com, not ..'],
  ['*.example.com', 'must be the name of a zone below a top-level domain, like example.com, not *.example.com.'],
  ['192.0.2.1', 'must be the name of a zone below a top-level domain, like example.com, not 192.0.2.1.'],
  ['https://example.com', 'A URL is not a DNS name. Use only the host name.'],
])('%s is no zone', async (name, text) => {
  const { world } = await givenZones('sqlite')
  const { status, body } = await world.call('/zones', { method: 'POST', body: { name } })
  expect([status, body.errors]).toEqual([400, { name: text }])
})

test('an organization has each zone once, and at most as many as its plan has monitors', async () => {
  const plans = JSON.stringify([{ id: 'free', name: 'Free', limits: { monitors: 1 } }])
  const { world, create } = await givenZones('sqlite', { PLANS: plans })
  await create('example.com')
  const post = (name: string) => world.call('/zones', { method: 'POST', body: { name } })
  expect(await post('example.com')).toMatchObject({ status: 409, body: { errors: { name: expect.any(String) } } })
  expect(await post('example.net')).toMatchObject({ status: 402 })
  const names = ['example.com', 'example.net']
  expect(await world.call('/zones/bulk', { method: 'POST', body: { names } })).toMatchObject({ status: 402 })
})

test('wrong name servers and times are refused, each with its place', async () => {
  const { world, create } = await givenZones('sqlite')
  await create('example.com')
  const patch = (body: unknown) => world.call('/zones/example.com', { method: 'PATCH', body })
  const wrong = ['a..b', '192.0.2.1', '2001:db8::1', '.', '*.example.com']
  const refused = (await patch({ expected_name_servers: ['ns1.example.com', ...wrong] })).body.errors
  expect(Object.keys(refused)).toEqual(wrong.map((_, index) => `expected_name_servers.${index + 1}`))
  const ignored = [{ code: 'single_network', reason: 'r', until: 'tomorrow' }]
  expect((await patch({ ignored })).body.errors).toHaveProperty(['ignored.0.until'])
  expect((await patch({ ignored: [{ code: 'nothing', reason: 'r' }] })).status).toBe(400)
})

test('a zone is found by each way to write its name', async () => {
  const { world, create } = await givenZones('sqlite')
  const { id, name } = await create('BÜCHER.example.')
  expect(name).toBe('xn--bcher-kva.example')
  for (const text of ['bücher.example', 'xn--BCHER-kva.example.']) {
    const path = encodeURIComponent(text)
    expect((await world.call(`/zones/${path}`)).body.id).toBe(id)
    expect((await world.call(`/zones?name=${path}`)).body.data).toMatchObject([{ id }])
  }
  const ignored = [{ code: 'name_server_silent', about: 'NS1.bücher.example.', reason: 'r' }]
  const changed = await world.call(`/zones/${id}`, { method: 'PATCH', body: { ignored } })
  expect(changed.body.ignored[0].about).toBe('ns1.xn--bcher-kva.example')
})

test('a look on demand is a new one, also right after another one', async () => {
  const { world, db, create } = await givenZones('sqlite')
  await create('example.com')
  let asked = 0
  const networkCheck = {
    state: async () => {
      asked++
      return 'offline'
    },
  } as never
  const looks = createSharedLooks({
    ...world.deps,
    ...{ authoritativeClient: {} as never, serverValidator: {} as never, networkCheck, port: 53 },
  })
  for (const expected of [1, 2]) {
    world.pass(1_000)
    expect((await world.call('/zones/example.com/check', { method: 'POST' })).status).toBe(202)
    const [claim] = await claimDueZones(world, world.deps.clock.now())
    await processZone({ ...world.deps, db }, looks, claim!, new AbortController().signal)
    expect(asked).toBe(expected)
  }
})

test('organizations with the same zone share a look', async () => {
  const { world, db, create, read } = await givenZones('sqlite')
  await create('example.com')
  const { key } = await world.organization('Other')
  await world.call('/zones', { method: 'POST', key, body: { name: 'example.com' } })
  const states = ['once']
  const networkCheck = {
    state: async () => {
      if (states.pop() === undefined) throw new Error('A second look.')
      return 'offline'
    },
  } as never
  const looks = createSharedLooks({
    ...world.deps,
    authoritativeClient: {} as never,
    serverValidator: {} as never,
    networkCheck,
    port: 53,
  })
  // As a regular look, which is due at the same time for both.
  await db.updateTable('due_zones').set({ due_at: Date.now() }).execute()
  const claims = await claimDueZones(world, Date.now() + MINUTE_MS)
  expect(claims).toHaveLength(2)
  const { signal } = new AbortController()
  await Promise.all(claims.map((each) => processZone({ ...world.deps, db }, looks, each, signal)))
  expect((await read()).withheld).toMatchObject({ reason: 'network' })
  expect((await world.call('/zones/example.com', { key })).body.withheld).toMatchObject({ reason: 'network' })
})
