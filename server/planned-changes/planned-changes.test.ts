import { expect, onTestFinished, test } from 'vitest'
import type { PlannedChange } from '#contract/planned-changes.ts'
import { monitorLoader } from '../checks/load-monitor.ts'
import { recordChecks } from '../checks/record-checks.ts'
import { type CheckDeps, runCheck } from '../checks/run-check.ts'
import type { Engine } from '../database/engine.ts'
import { createAuthoritativeClient } from '../dns/resolver/authoritative-client.ts'
import { nextDueAt } from '../monitors/slots.ts'
import { givenAlerting } from '../testing/alerts.ts'
import { claimChecks } from '../testing/checks.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenDnsClient } from '../testing/dns.ts'
import { startDnsTree } from '../testing/dns-server-tree.ts'
import { givenJobs } from '../testing/jobs.ts'
import { patientClock } from '../testing/patient-clock.ts'
import { startReceiver } from '../testing/receiver.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const [OLD, NEW, OTHER] = ['192.0.2.1', '192.0.2.2', '192.0.2.9']

onBothEngines('planned changes', (_fresh, engine) => {
  test('a change that spreads slowly sends no alert, and becomes the expectation when it is everywhere', async () => {
    const { world, set, check, plan, read, send, titles, events, monitor } = await givenRecord(engine)
    const { id } = await plan({ from: at(world, HOUR_MS), to: at(world, 5 * HOUR_MS) })
    await check()
    expect(await read(id)).toMatchObject({ state: 'SCHEDULED', old_value: [OLD], new_value: [NEW], progress: null })

    world.pass(HOUR_MS)
    await check()
    expect((await read(id)).progress!.servers.map(({ answer }) => answer)).toEqual(['old', 'old', 'old', 'old'])
    expect((await monitor('reason')).reason!.text).toContain('is in progress')

    // Name server by name server, then cache by cache.
    set.servers[0]!.set('www.example.test', 'A', [NEW!], { ttl: 600 })
    for (let count = 0; count < 5; count++) await check(5 * MINUTE_MS)
    const mixed = await read(id)
    expect(mixed.progress).toMatchObject({ caches_until: null })
    expect(mixed.progress!.servers.map(({ answer }) => answer)).toEqual(['new', 'old', 'old', 'old'])

    set.servers[1]!.set('www.example.test', 'A', [NEW!], { ttl: 600 })
    set.resolvers[0]!.set('www.example.test', 'A', [NEW!], { ttl: 600 })
    await check(MINUTE_MS)
    const moved = await read(id)
    expect(moved.progress!.servers.map(({ answer }) => answer)).toEqual(['new', 'new', 'new', 'old'])
    expect(Date.parse(moved.progress!.caches_until!) - Date.parse(moved.progress!.checked)).toBe(600_000)

    set.resolvers[1]!.set('www.example.test', 'A', [NEW!], { ttl: 600 })
    await check(MINUTE_MS)
    expect((await read(id)).state).toBe('IN_PROGRESS') // a cache elsewhere may still answer the old values
    expect((await monitor()).expected_value).toEqual([OLD])
    for (let minute = 0; minute < 10; minute++) await check(MINUTE_MS)

    expect(await read(id)).toMatchObject({ state: 'DONE', closed: expect.any(String) })
    expect(await monitor('reason')).toMatchObject({
      ...{ state: 'VALID', expected_value: [NEW], current_value: [NEW] },
      reason: { code: 'as_expected' },
    })
    await send()
    expect(titles()).toEqual(['www.example.test A: change done'])
    expect((await events()).every(({ new_state }) => new_state === 'VALID')).toBe(true)
    const { key } = await world.key('admin')
    const { data } = (await world.call('/audit-log?action=monitor.updated', { key })).body
    expect(data).toMatchObject([
      {
        actor: { type: 'system', id, label: 'Planned change of www.example.test A' },
        before: { expected_value: [OLD] },
        after: { expected_value: [NEW] },
      },
    ])

    // From now on the old values are wrong.
    for (const server of [...set.servers, ...set.resolvers]) server.set('www.example.test', 'A', [OLD!])
    await check(6 * MINUTE_MS)
    expect((await monitor()).state).toBe('MISMATCH')
  })

  test('a change that never arrives alerts at the end of its period, and recovers when it arrives late', async () => {
    const { world, set, check, plan, read, send, titles, monitor } = await givenRecord(engine, { frequency: 120 })
    const { id } = await plan({ to: at(world, HOUR_MS) })
    await check()
    for (let minute = 0; minute < 60; minute += 5) {
      await check(5 * MINUTE_MS)
      await send()
      if (minute < 55) expect([titles(), (await monitor()).state]).toEqual([[], 'VALID'])
    }
    world.pass(MINUTE_MS)
    await send()
    expect(titles()).toEqual(['www.example.test A: Mismatch'])
    expect(await read(id)).toMatchObject({ state: 'NOT_ARRIVED' })
    expect(await monitor('reason')).toMatchObject({
      ...{ state: 'MISMATCH', expected_value: [NEW], current_value: [OLD] },
      reason: { code: 'change_not_arrived' },
    })

    for (const server of [...set.servers, ...set.resolvers]) server.set('www.example.test', 'A', [NEW!])
    await check(2 * HOUR_MS)
    await send()
    expect(titles()[1]).toBe('www.example.test A: recovered')
  })

  test('a change stays open while the name servers fail at the end of its period', async () => {
    const { world, set, check, plan, read, monitor } = await givenRecord(engine)
    const { id } = await plan({ to: at(world, HOUR_MS) })
    await check()
    const every = [...set.servers, ...set.resolvers]
    for (const server of every) server.fail('www.example.test', 'SERVFAIL')
    await check(HOUR_MS)
    for (const ms of [30_000, 60_000, 120_000]) await check(ms)
    expect([(await monitor()).state, (await read(id)).state]).toEqual(['INVALID', 'IN_PROGRESS'])
    for (const server of every) {
      server.recover('www.example.test')
      server.set('www.example.test', 'A', [NEW!])
    }
    await check(6 * MINUTE_MS)
    expect([(await monitor()).state, (await read(id)).state]).toEqual(['VALID', 'DONE'])
  })

  test('a third value is a mismatch, and a change that came too early is valid when the period begins', async () => {
    const { world, set, check, plan, read, monitor, events } = await givenRecord(engine)
    const every = [...set.servers, ...set.resolvers]
    for (const server of every) server.set('www.example.test', 'A', [NEW!], { ttl: 60 })
    const { id } = await plan({ from: at(world, HOUR_MS), to: at(world, 2 * HOUR_MS) })
    await check()
    expect((await monitor()).state).toBe('MISMATCH')
    await check(HOUR_MS)
    expect([(await monitor()).state, (await read(id)).state]).toEqual(['VALID', 'DONE'])

    await plan({ to: at(world, HOUR_MS), new_value: [OLD!] })
    for (const server of every) server.set('www.example.test', 'A', [OTHER!])
    await check(MINUTE_MS)
    expect(await monitor('reason')).toMatchObject({ state: 'MISMATCH', reason: { code: 'unexpected_during_change' } })
    expect((await events()).map(({ new_state }) => new_state)).toEqual(['VALID', 'MISMATCH', 'VALID', 'MISMATCH'])
  })

  test('a monitor with a wait and a planned change ends the wait first and then the change, each with a message', async () => {
    const { world, set, check, plan, read, send, titles, monitor, call } = await givenRecord(engine)
    const every = [...set.servers, ...set.resolvers]
    for (const server of every) server.remove('www.example.test', 'A')
    await check(6 * MINUTE_MS)
    const { id, body } = await plan({ to: at(world, HOUR_MS) })
    await call('PATCH', `/monitors/${body.monitor_id}`, { until: 'valid' })
    await check()
    expect([(await monitor()).state, (await monitor('wait')).wait!.state]).toEqual(['NOT_FOUND', 'waiting'])
    for (const server of every) server.set('www.example.test', 'A', [NEW!], { ttl: 60 })
    await check(6 * MINUTE_MS)
    expect((await monitor()).state).toBe('VALID')
    expect((await monitor('wait')).wait!.state).toBe('valid')
    await check(6 * MINUTE_MS)
    expect([(await read(id)).state, (await monitor()).expected_value]).toEqual(['DONE', [NEW]])
    await send()
    const information = titles().filter((title) => /found$|done$/.test(title))
    expect(information.sort()).toEqual(['www.example.test A: change done', 'www.example.test A: record found'])
  })

  test('a change ends when it is deleted, or when its monitor expects other values', async () => {
    const { world, check, plan, read, monitor, call } = await givenRecord(engine)
    const first = await plan({ to: at(world, HOUR_MS) })
    await check()
    expect((await call('POST', '/planned-changes', first.body)).status).toBe(409)
    await call('DELETE', `/planned-changes/${first.id}`)
    await check()
    expect((await monitor('reason')).reason!.code).toBe('as_expected')

    const second = await plan({ to: at(world, HOUR_MS) })
    await call('PATCH', `/monitors/${first.body.monitor_id}`, { expected_value: [OLD, OTHER] })
    expect(await read(second.id)).toMatchObject({ state: 'CANCELED' })
    expect((await call('PATCH', `/planned-changes/${second.id}`, { to: at(world, 2 * HOUR_MS) })).status).toBe(409)
    const { body } = await call('GET', '/planned-changes?is_open=true')
    expect(body.data).toEqual([])
  })

  test('a change that a job planned follows the regular interval, and ends without a message of its own', async () => {
    const { world, set, check, call, send, titles, monitor } = await givenRecord(engine)
    const { run } = givenJobs(world)
    const period = { from: at(world, HOUR_MS), to: at(world, 21 * 24 * HOUR_MS) }
    const job = await run({ action: 'plan', filter: { value: OLD }, value: OLD, replacement: NEW, ...period })
    expect(job).toMatchObject({ state: 'finished', total: 1, changed: 1 })
    const progress = async () => (await call('GET', `/planned-changes/counts?job_id=${job.id}`)).body
    const none = { total: 1, scheduled: 0, in_progress: 0, done: 0, not_arrived: 0, canceled: 0 }
    expect(await progress()).toEqual({ ...none, scheduled: 1 })
    world.pass(HOUR_MS)
    await check()
    expect(await progress()).toEqual({ ...none, in_progress: 1 })
    for (const server of [...set.servers, ...set.resolvers]) server.set('www.example.test', 'A', [NEW!], { ttl: 60 })
    await check(6 * MINUTE_MS)
    const dueCheck = await world.deps.db.selectFrom('due_checks').selectAll().executeTakeFirstOrThrow()
    expect(dueCheck.due_at).toBe(nextDueAt(world.deps.clock.now(), dueCheck))
    expect(await monitor()).toMatchObject({ state: 'VALID', expected_value: [OLD] })
    for (let count = 0; count < 3; count++) await check(6 * MINUTE_MS)
    expect(await progress()).toEqual({ ...none, done: 1 })
    expect(await monitor()).toMatchObject({ state: 'VALID', expected_value: [NEW] })
    await send()
    expect(titles()).toEqual([])
  })

  test('invalid input is refused with the field and the remedy, and other organizations cannot read the change', async () => {
    const { world, plan, call } = await givenRecord(engine)
    const { id, body } = await plan({ from: at(world, HOUR_MS), to: at(world, 2 * HOUR_MS) })
    const refused = async (change: object) => (await call('PATCH', `/planned-changes/${id}`, change)).body.errors
    expect(await refused({ new_value: ['www'] })).toMatchObject({ 'new_value.0': expect.stringContaining('IPv4') })
    expect(await refused({ new_value: OLD })).toMatchObject({
      new_value: 'is what the monitor already expects. Send other values.',
    })
    expect(await refused({ new_value: {}, to: 'soon' })).toMatchObject({ new_value: /./, to: /ISO/ })
    expect(await refused({ to: at(world, -HOUR_MS) })).toMatchObject({ to: expect.stringContaining('future') })
    expect(await refused({ to: at(world, 100 * 24 * HOUR_MS) })).toMatchObject({
      to: expect.stringContaining('90 days'),
    })
    expect(await refused({ from: 0 })).toMatchObject({ from: expect.stringContaining('must be from') })

    const { key } = await world.organization('Second')
    const asSecond = async (method: string, path: string, sent?: unknown) =>
      (await world.call(path, { method: method as never, key, body: sent })).status
    expect(await asSecond('GET', `/planned-changes/${id}`)).toBe(404)
    expect(await asSecond('PATCH', `/planned-changes/${id}`, { to: at(world, 3 * HOUR_MS) })).toBe(404)
    expect(await asSecond('DELETE', `/planned-changes/${id}`)).toBe(404)
    expect(await asSecond('POST', '/planned-changes', body)).toBe(400)
  })
})

const at = (world: TestApp, ms: number) => new Date(world.deps.clock.now() + ms).toISOString()

/** A record with two name servers and two resolvers, its monitor, and a rule that alerts at once. */
async function givenRecord(engine: Engine, more: object = {}) {
  const world = await givenApp(engine)
  const tree = await startDnsTree()
  onTestFinished(() => tree.close())
  const [tld] = await tree.zone('test', ['a.nic.test'])
  const servers = await tree.zone('example.test', ['ns1.example.test', 'ns2.example.test'], [tld!])
  const resolvers = [await tree.server(), await tree.server()]
  for (const server of [...servers, ...resolvers]) server.set('www.example.test', 'A', [OLD!], { ttl: 600 })
  const dns = givenDnsClient(resolvers, { timeoutMs: 500, attempts: 2 })
  const authorities = createAuthoritativeClient({
    dns: givenDnsClient([]),
    clock: patientClock,
    roots: [tree.root.address],
  })
  const deps: CheckDeps = {
    dns,
    clock: { ...patientClock, now: world.deps.clock.now },
    authoritativeClient: authorities,
  }
  const receiver = await startReceiver()
  const call = (method: string, path: string, body?: unknown) =>
    world.call(path, { method: method as never, ...(body === undefined ? {} : { body }) })
  const settings = { endpoint: `${receiver.url}/alerts` }
  const channel = (await call('POST', '/channels', { name: 'A', type: 'http', settings })).body.id
  await call('POST', '/alert-rules', { name: 'A', channels: [channel], delay: 0 })
  const record = { full_domain: 'www.example.test', record_type: 'A', expected_value: [OLD], ...more }
  const monitorId: string = (await call('POST', '/monitors', record)).body.id
  const { db, clock } = world.deps
  const { evaluate, send } = givenAlerting(world)

  /** Lets time pass, then checks what is due. */
  async function check(afterMs = 0): Promise<void> {
    world.pass(afterMs)
    const claims = await claimChecks(db, { now: clock.now(), process: 1, limit: 100 })
    const { signal } = new AbortController()
    const results = await Promise.all(claims.map((claim) => runCheck(claim, deps, monitorLoader(db, clock), signal)))
    await recordChecks(db, results, clock.now())
    await evaluate()
  }
  await check()

  return {
    ...{ world, call, check },
    set: {
      servers,
      resolvers,
    },
    /** Sends what alerts are due. */
    send: async () => {
      world.pass(20_000)
      await send()
    },
    titles: (): string[] => receiver.received.map(({ body }) => JSON.parse(body.toString()).title),
    async plan(period: {
      from?: string
      to: string
      new_value?: string[]
    }): Promise<{ id: string; body: Record<string, unknown> }> {
      const body = { monitor_id: monitorId, new_value: [NEW], ...period }
      return { id: (await call('POST', '/planned-changes', body)).body.id, body }
    },
    read: async (id: string): Promise<PlannedChange> => (await call('GET', `/planned-changes/${id}`)).body,
    monitor: async (include = '') => (await call('GET', `/monitors/${monitorId}?include=${include}`)).body,
    events: async (): Promise<{ new_state: string }[]> =>
      (await call('GET', `/monitors/${monitorId}/events?order_by=occurred`)).body.data,
  }
}
