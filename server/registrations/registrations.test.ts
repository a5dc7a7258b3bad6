import { expect, onTestFinished, test } from 'vitest'
import type { Zone } from '#contract/zones.ts'
import { LoopHealth } from '../loop-health.ts'
import { claimDue } from '../queue/lease-queue.ts'
import { onBothEngines } from '../testing/database.ts'
import { type Answer, startReceiver } from '../testing/receiver.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'
import { healthyFacts } from '../testing/zone-facts.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../times.ts'
import { processZone } from '../zones/worker.ts'
import { createBootstrap, findRdapServer, parseBootstrap } from './bootstrap.ts'
import { lookUpDomain } from './look-up.ts'
import { parseRdapDomain } from './rdap.ts'
import { wantRegistration } from './store.ts'
import { createRegistrationWorker } from './worker.ts'

const EXPIRES = '2027-08-13T04:00:00Z'
/** As Verisign answers, in short. */
const response = (changes: object = {}) => ({
  objectClassName: 'domain',
  ldhName: 'EXAMPLE.COM',
  status: ['client transfer prohibited', 'clientDeleteProhibited', 'made up'],
  entities: [
    {
      objectClassName: 'entity',
      roles: ['registrar'],
      publicIds: [{ type: 'IANA Registrar ID', identifier: '376' }],
      vcardArray: [
        'vcard',
        [
          ['version', {}, 'text', '4.0'],
          ['fn', {}, 'text', 'Example Registrar, Inc.'],
        ],
      ],
    },
  ],
  events: [
    { eventAction: 'registration', eventDate: '1995-08-14T04:00:00Z' },
    { eventAction: 'expiration', eventDate: EXPIRES },
  ],
  nameservers: [{ ldhName: 'NS2.EXAMPLE.NET' }, { ldhName: 'ns1.example.com.' }],
  secureDNS: { delegationSigned: true, dsData: [{ keyTag: 1, algorithm: 13, digestType: 2, digest: 'AB' }] },
  ...changes,
})
const bytes = (value: unknown) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))
const parsed = (changes: object = {}) => parseRdapDomain(bytes(response(changes)), 'example.com')

/** The API, and an RDAP server for .com and .net with its bootstrap file. */
async function givenRegistry(engine: 'sqlite' | 'postgres' = 'sqlite', settings = {}) {
  const server = await startReceiver()
  onTestFinished(() => server.close())
  const world = await givenApp(engine, settings)
  const { db, clock, safeFetch, log } = world.deps
  const rdapBootstrap = `${server.url}/dns.json`
  const services = [[['com', 'net'], [`${server.url}/rdap`]]]
  let rdap: (path: string) => number | Answer = () => ({ status: 200, body: JSON.stringify(response()) })
  server.answers(({ path }) =>
    path === '/dns.json' ? { status: 200, body: JSON.stringify({ version: '1.0', services }) } : rdap(path),
  )
  const abandon = new AbortController().signal
  let elapsed = 0
  const deps = { db, log, loopHealth: new LoopHealth(), process: 1, safeFetch, rdapBootstrap }
  const worker = createRegistrationWorker(
    { ...deps, clock: { ...clock, elapsed: () => clock.elapsed() + elapsed } },
    abandon,
  )
  return {
    ...{ world, db, server, worker },
    answers: (next: typeof rdap) => {
      rdap = next
    },
    paths: () => server.received.map(({ path }) => path).filter((path) => path !== '/dns.json'),
    pass: (ms: number) => {
      world.pass(ms)
      elapsed += ms
    },
    lookUp: async () => {
      await worker.pass()
      await worker.done()
    },
    want: (name: string) => wantRegistration(db, name, clock.now()),
    /** Looks at the zones of the API, whether due or not. */
    look: async () => {
      await db.updateTable('due_zones').set({ due_at: clock.now(), claimed_by: null }).execute()
      for (const claim of await claimZones(world)) {
        const facts = healthyFacts({ at: clock.now(), ds: [] })
        await processZone({ db, clock, isRdapOn: true }, async () => ({ kind: 'facts', facts }), claim, abandon)
      }
    },
  }
}

const claimZones = ({ deps: { db, clock } }: TestApp) =>
  claimDue(db, 'due_zones', { now: clock.now(), process: 1, limit: 10 })

onBothEngines('registrations', (_, engine) => {
  test('the registration of a zone is shown after two look-ups, says when the zone goes dark, and is confirmed as critical', async () => {
    const { world, lookUp, look, pass, answers, paths, db } = await givenRegistry(engine)
    await world.call('/zones', { method: 'POST', body: { name: 'example.com' } })
    const read = async (): Promise<Zone> => (await world.call('/zones/example.com')).body
    expect((await read()).registration).toBeNull()
    await look()
    expect((await read()).registration).toMatchObject({ domain: 'example.com', state: 'unknown', looked_up: null })
    // The next look is soon.
    const { due_at } = await db.selectFrom('due_zones').select('due_at').executeTakeFirstOrThrow()
    expect(due_at).toBeLessThanOrEqual(world.deps.clock.now() + 10 * MINUTE_MS)

    await lookUp()
    await lookUp()
    expect(paths()).toEqual(['/rdap/domain/example.com'])
    pass(6 * MINUTE_MS)
    await lookUp()
    await look()
    expect(await read()).toMatchObject({
      registration: {
        ...{ domain: 'example.com', state: 'registered', registrar: 'Example Registrar, Inc.', problem: null },
        ...{
          expires: '2027-08-13T04:00:00.000Z',
          statuses: ['client delete prohibited', 'client transfer prohibited'],
        },
      },
      goes_dark: {
        ...{ at: '2027-08-13T04:00:00.000Z', reason: 'registration_expires', name_server: null, record_type: null },
        text: 'The registration of example.com ends, unless it is renewed.',
      },
    })

    answers(() => ({ status: 200, body: JSON.stringify(response({ status: ['client hold'] })) }))
    for (const ms of [2 * DAY_MS, 6 * MINUTE_MS]) {
      pass(ms)
      await lookUp()
    }
    for (const ms of [0, 6 * MINUTE_MS]) {
      pass(ms)
      await look()
    }
    expect(await read()).toMatchObject({ health: 'critical', findings: { critical: 1 } })
    const { data } = (await world.call('/zones/example.com/findings')).body
    const hold = data.find(({ code }: { code: string }) => code === 'registration_on_hold')
    expect(hold.text).toBe('example.com is on hold by its registrar. Its names do not resolve.')
  })

  test('one response that differs changes nothing, and a failure keeps what is known, with its age', async () => {
    const { lookUp, want, pass, answers, db } = await givenRegistry(engine)
    await want('www.example.com')
    await lookUp()
    pass(6 * MINUTE_MS)
    await lookUp()
    const known = await want('example.com')
    expect(known).toMatchObject({ facts: { state: 'registered', registrarId: '376' }, problem: null })

    answers(() => 404)
    pass(2 * DAY_MS)
    await want('example.com')
    await lookUp()
    expect((await want('example.com'))?.facts).toEqual(known?.facts)
    answers(() => ({ status: 429, headers: { 'retry-after': '7200' } }))
    pass(6 * MINUTE_MS)
    await lookUp()
    expect(await want('example.com')).toEqual({ ...known, problem: 'rate_limited' })
    const { due_at } = await db.selectFrom('due_registrations').select('due_at').executeTakeFirstOrThrow()
    answers(() => ({ status: 200, body: JSON.stringify(response()) }))
    pass(HOUR_MS)
    await lookUp()
    expect(await db.selectFrom('due_registrations').select('due_at').executeTakeFirstOrThrow()).toEqual({ due_at })
    pass(HOUR_MS)
    await lookUp()
    const again = await want('example.com')
    expect(again).toMatchObject({ facts: known?.facts, problem: null })
    expect(again!.lookedUpAt).toBeGreaterThan(known!.lookedUpAt! + DAY_MS)
  })

  test('a registration that no zone wants any more is forgotten, and one without RDAP is known as such', async () => {
    const { lookUp, want, pass, paths, db } = await givenRegistry(engine)
    await want('example.de')
    expect(await want('co.uk')).toBeNull()
    await lookUp()
    pass(6 * MINUTE_MS)
    await lookUp()
    expect((await want('example.de'))?.facts).toEqual({ state: 'no_rdap' })
    pass(4 * DAY_MS)
    await lookUp()
    expect([await db.selectFrom('due_registrations').selectAll().execute(), paths()]).toEqual([[], []])
  })

  test('an RDAP server gets one look-up a second, however many domains somebody adds', async () => {
    const { lookUp, want, pass, paths, db } = await givenRegistry(engine)
    for (let index = 0; index < 150; index++) await want(`domain${index}.com`)
    await want('example.de')
    for (let index = 0; index < 3; index++) await lookUp()
    expect(paths()).toHaveLength(1)
    // The domain of another registry did not wait.
    const other = db.selectFrom('due_registrations').select('pending').where('domain', '=', 'example.de')
    expect((await other.executeTakeFirstOrThrow()).pending).not.toBeNull()
    pass(3 * MINUTE_MS)
    await lookUp()
    expect(paths()).toHaveLength(2)
  })
})

test('a person who checks a zone has its registration looked up, at most every ten minutes', async () => {
  const { world, lookUp, look, pass, paths } = await givenRegistry()
  await world.call('/zones', { method: 'POST', body: { name: 'example.com' } })
  await look()
  await lookUp()
  pass(6 * MINUTE_MS)
  await lookUp()
  const check = () => world.call('/zones/example.com/check', { method: 'POST' })
  await check()
  await lookUp()
  expect(paths()).toHaveLength(2)
  pass(11 * MINUTE_MS)
  await check()
  await lookUp()
  expect(paths()).toHaveLength(3)
})

test('a response is read with its words, and without those of nobody', () => {
  expect(parsed()).toEqual({
    ...{ state: 'registered', registrar: 'Example Registrar, Inc.', registrarId: '376' },
    ...{ expiresAt: Date.parse(EXPIRES), statuses: ['client delete prohibited', 'client transfer prohibited'] },
    ...{ nameServers: ['ns1.example.com', 'ns2.example.net'], dsKeyTags: [1] },
  })
  const bare = { status: undefined, entities: undefined, events: undefined, nameservers: [], secureDNS: null }
  expect(parsed(bare)).toEqual({
    ...{ state: 'registered', registrar: null, registrarId: null, expiresAt: null, statuses: [] },
    ...{ nameServers: null, dsKeyTags: null },
  })
})

test.each<[string, unknown]>([
  ['another domain', response({ ldhName: 'example.net' })],
  ['another object', response({ objectClassName: 'entity' })],
  ['a list', [response()]],
  ['no JSON', '<html>'],
  ['very deep JSON', '['.repeat(200_000)],
])('a response with %s is refused', (_, body) => {
  expect(parseRdapDomain(bytes(body), 'example.com')).toBeUndefined()
})

test('hostile text does not reach pages and mails', () => {
  const named = (name: unknown) => {
    const entity = { roles: ['registrar'], vcardArray: ['vcard', [['fn', {}, 'text', name]]] }
    return (parsed({ entities: [null, 7, entity] }) as { registrar: string | null }).registrar
  }
  expect(named('<b>Pay</b>\u0000\n\u202ehttps://evil.example/x\u001b[31m')).toBe('b Pay b https evil.example x 31m')
  expect(named('x'.repeat(100_000))).toHaveLength(100)
  expect(named('Müller & Söhne (GmbH)')).toBe('Müller & Söhne (GmbH)')
  for (const name of [7, { a: 1 }, ['x'], '\u0000\u200b', '']) expect(named(name)).toBeNull()
  const dated = (eventDate: unknown) =>
    (parsed({ events: [{ eventAction: 'expiration', eventDate }] }) as { expiresAt: number | null }).expiresAt
  for (const date of ['9999-12-31T00:00:00Z', '0001-01-01', '+275760-09-13T00:00:00Z', '2027-13-45', 1e15, null, ''])
    expect(dated(date)).toBeNull()
  expect(dated('2027-08-13T04:00:00+02:00')).toBe(Date.parse('2027-08-13T02:00:00Z'))
  const many = Array.from({ length: 10_000 }, (_, index) => ({ ldhName: `ns${index}.example.net` }))
  expect((parsed({ nameservers: many }) as { nameServers: string[] }).nameServers).toHaveLength(26)
})

test('redirects are followed to public addresses only, and three times', async () => {
  const { world, server, answers } = await givenRegistry()
  const { safeFetch, clock } = world.deps
  const ask = () =>
    lookUpDomain({ safeFetch, now: clock.now }, `${server.url}/rdap/`, 'example.com', new AbortController().signal)
  const to = (location: string) => ({ status: 302, headers: { location } })
  answers((path) => (path.startsWith('/rdap') ? to('/moved') : { status: 200, body: JSON.stringify(response()) }))
  expect((await ask()).kind).toBe('facts')
  for (const target of ['http://10.0.0.1/', 'http://[::1]/', 'http://169.254.169.254/latest', 'http://localhost/']) {
    answers(() => to(target))
    expect(await ask()).toEqual({ kind: 'failed', problem: 'refused' })
  }
  answers(() => to(`${server.url}/again`))
  server.received.length = 0
  expect(await ask()).toEqual({ kind: 'failed', problem: 'invalid_response' })
  expect(server.received).toHaveLength(4)
  for (const location of ['file:///etc/passwd', 'ftp://example.com/', 'http://%']) {
    answers(() => to(location))
    expect((await ask()).kind).toBe('failed')
  }
  answers(() => ({ status: 200, body: JSON.stringify(response({ notices: ['x'.repeat(10_000_000)] })) }))
  expect(await ask()).toEqual({ kind: 'failed', problem: 'invalid_response' })
  await server.close()
  expect(await ask()).toEqual({ kind: 'failed', problem: 'unreachable' })
})

test('the copy of the bootstrap file knows the large registries, and a file that cannot be read does not replace it', async () => {
  const { world, server } = await givenRegistry()
  const { clock, safeFetch } = world.deps
  const { signal } = new AbortController()
  for (const url of [null, `${server.url}/nothing`, 'http://10.0.0.1/dns.json']) {
    const servers = await createBootstrap({ clock, safeFetch, url })(signal)
    expect(findRdapServer(servers, 'example.com')).toBe('https://rdap.verisign.com/com/v1/')
    expect(findRdapServer(servers, 'example.org')).toMatch(/^https:/)
    expect(findRdapServer(servers, 'example.invalid')).toBeUndefined()
  }
  const services = [
    [
      ['COM', 7],
      ['http://a.example/x', 'https://b.example'],
    ],
    [['co.com'], ['javascript:alert(1)', 'https://c.example/']],
    [['evil'], ['file:///etc/passwd']],
    'x',
  ]
  const servers = parseBootstrap({ services })!
  expect([...servers]).toEqual([
    ['com', 'https://b.example/'],
    ['co.com', 'https://c.example/'],
  ])
  expect(findRdapServer(servers, 'a.co.com')).toBe('https://c.example/')
  for (const file of [null, 7, {}, { services: {} }, { services: [] }]) expect(parseBootstrap(file)).toBeUndefined()
})
