import { pino } from 'pino'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { NewMonitor } from '#contract/monitors.ts'
import { insertOrganization } from '../../accounts/organizations.ts'
import { monitorLoader } from '../../checks/load-monitor.ts'
import { recordChecks } from '../../checks/record-checks.ts'
import { runCheck } from '../../checks/run-check.ts'
import type { Clock } from '../../clock.ts'
import { systemContext } from '../../context.ts'
import type { Database } from '../../database/database.ts'
import { createDnsClient } from '../../dns/client.ts'
import { createAuthoritativeClient } from '../../dns/resolver/authoritative-client.ts'
import { getEvent } from '../../events/store.ts'
import { createKeyring } from '../../keyring.ts'
import { LoopHealth } from '../../loop-health.ts'
import { insertMonitors } from '../../monitors/insert.ts'
import { parseMonitor } from '../../monitors/parse-monitor.ts'
import { readBacklog } from '../../operations/backlog.ts'
import { claimDue } from '../../queue/lease-queue.ts'
import { createWakeUps } from '../../queue/wake-up.ts'
import { RDATA_FORMATS, recordTypeOf } from '../../record-types/record-types.ts'
import { claimChecks } from '../../testing/checks.ts'
import { freshDatabase, onBothEngines, waitUntilBlocked } from '../../testing/database.ts'
import { startDnsTree } from '../../testing/dns-server-tree.ts'
import { patientClock } from '../../testing/patient-clock.ts'
import { insertWebhook } from '../../webhooks/webhook-store.ts'
import { nextQuickCheckIn, quickCheck } from './quick-check.ts'
import { endWait, findClaimedWait, recordQuickCheck, timeOutWait, type WaitClaim } from './store.ts'
import { processWait } from './worker.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const NAME = 'shop.example.test'
const TARGET = 'stores.pages.test'

test('looks begin every 15 seconds and come at the regular interval after 72 hours, never less often before', () => {
  const at = (hours: number, frequency = 5) =>
    nextQuickCheckIn({ ageMs: hours * HOUR_MS, frequency, open: 1, queries: 1, isConfirming: false })
  expect(at(0)).toBe(15 * SECOND_MS)
  expect(at(72)).toBe(5 * MINUTE_MS)
  expect(at(1_000, 120)).toBe(120 * MINUTE_MS)
  const hours = Array.from({ length: 73 }, (_, hour) => at(hour))
  expect(hours).toEqual(hours.toSorted((one, other) => one - other))
  expect(at(1)).toBeLessThan(16 * SECOND_MS)
})

test('looks of one organization keep their distance, and costly ones come less often', () => {
  const look = { ageMs: 0, frequency: 5, open: 1_000, queries: 1, isConfirming: false }
  expect(nextQuickCheckIn(look)).toBe(200 * SECOND_MS)
  expect(nextQuickCheckIn({ ...look, open: 1, queries: 60 })).toBe(45 * SECOND_MS)
  expect(nextQuickCheckIn({ ...look, open: 1, isConfirming: true })).toBe(60 * SECOND_MS)
})

test('the queries for the addresses of name servers count, within the budget of a check', async () => {
  const tree = await startDnsTree()
  onTestFinished(() => tree.close())
  const names = (level: number) => Array.from({ length: 13 }, (_, at) => [`n${at}.z${level + 1}.bomb`, []])
  for (let level = 0; level < 6; level++) tree.root.delegate(`z${level}.bomb`, Object.fromEntries(names(level)))
  const dns = createDnsClient({ formats: RDATA_FORMATS, servers: [], clock: patientClock })
  onTestFinished(() => dns.close())
  const authoritativeClient = createAuthoritativeClient({ dns, clock: patientClock, roots: [tree.root.address] })
  await authoritativeClient.findRootProblem()
  const expectation = {
    owner: 'www.z0.bomb',
    recordType: recordTypeOf('A'),
    expectedValues: ['192.0.2.1'],
    isExactMatch: true,
  }
  const { queries } = await quickCheck(expectation, { dns, authoritativeClient }, 0, new AbortController().signal)
  expect(tree.root.queries.total).toBeGreaterThan(20)
  expect(queries).toBeGreaterThan(20)
})

/** A zone on two name servers, a resolver that remembers what the zone said before, and a monitor that waits. */
async function givenWait(db: Database, given: Partial<NewMonitor> = {}) {
  let now = Date.UTC(2026, 10, 21, 9, 30)
  const clock: Clock = { ...patientClock, now: () => now, sleep: async () => {} }
  const tree = await startDnsTree()
  const [tld] = await tree.zone('test', ['a.nic.test'])
  const nameServers = ['ns1.example.test', 'ns2.example.test']
  const zone = await tree.zone('example.test', nameServers, [tld!])
  const resolver = await tree.server()
  resolver.set('example.test', 'NS', nameServers)
  const dns = createDnsClient({ formats: RDATA_FORMATS, servers: [resolver.address], clock: patientClock })
  const others = createDnsClient({ formats: RDATA_FORMATS, servers: [], clock: patientClock })
  onTestFinished(async () => {
    await Promise.all([dns.close(), others.close()])
    await tree.close()
  })
  const authoritativeClient = createAuthoritativeClient({
    dns: others,
    clock: patientClock,
    roots: [tree.root.address],
  })
  const organization = await insertOrganization(db, { name: 'Test', email: 'a@example.com', passwordHash: '' }, now)
  const tenant = { organizationId: organization.id }
  const keyring = createKeyring('x'.repeat(32))
  await insertWebhook(db, keyring, systemContext(organization.id, now), {
    url: 'https://receiver.example/',
    groups: ['default'],
  })
  const parsed = parseMonitor({
    ...{ full_domain: NAME, record_type: 'CNAME', expected_value: TARGET, notify: 'on_success', until: 'valid' },
    ...given,
  })
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors))
  const [monitor] = await insertMonitors(db, systemContext(organization.id, now), [parsed.draft], {
    waits: { keyring, maxWaiting: 1_000 },
  })
  const { signal } = new AbortController()
  const log = pino({ level: 'silent' })
  const wakeUps = createWakeUps()
  const deps = { db, clock, dns, authoritativeClient, log, loopHealth: new LoopHealth(), wakeUps, process: 1 }
  const dueAt = async (table: 'due_checks' | 'due_waits') => {
    const row = await db.selectFrom(table).select('due_at').where('monitor_id', '=', monitor!.id).executeTakeFirst()
    return row && row.due_at! - now
  }
  return {
    zone,
    monitor: monitor!,
    dueAt,
    claim: async () => (await claimDue(db, 'due_waits', { now, process: 1, limit: 1 }))[0]!,
    pass: (ms: number) => {
      now += ms
    },
    /** One round of the loop of waits. Returns how many were due. */
    async look(): Promise<number> {
      const claims = await claimDue(db, 'due_waits', { now, process: 1, limit: 10 })
      for (const claim of claims) await processWait(deps, claim, signal)
      return claims.length
    },
    /** One round of the regular loop. Returns how many events that made. */
    async check(): Promise<number> {
      const claims = await claimChecks(db, { now, process: 1, limit: 10 })
      const load = monitorLoader(db, clock)
      const results = await Promise.all(claims.map((claim) => runCheck(claim, deps, load, signal)))
      return await recordChecks(db, results, now)
    },
    events: async () => {
      const rows = await db.selectFrom('events').select('id').where(tenantOf(tenant)).orderBy('id').execute()
      return await Promise.all(
        rows.map(({ id: event }) => getEvent(db, tenant, { monitor: monitor!.id, event, include: 'diagnosis' })),
      )
    },
    requests: async () => {
      const rows = await db.selectFrom('webhook_requests').select('event_id').where(tenantOf(tenant)).execute()
      return rows.map(({ event_id }) => event_id)
    },
    /** What people are told, by channel. */
    information: async () => {
      const rows = await db.selectFrom('alerts').select('information').where(tenantOf(tenant)).execute()
      return rows.map((row) => JSON.parse(row.information!))
    },
    wait: () => db.selectFrom('waits').selectAll().where(tenantOf(tenant)).executeTakeFirstOrThrow(),
    monitorRow: () => db.selectFrom('monitors').selectAll().where(tenantOf(tenant)).executeTakeFirstOrThrow(),
  }
}

const tenantOf =
  ({ organizationId }: { organizationId: string }) =>
  // biome-ignore lint/suspicious/noExplicitAny: any table of the test
  ({ eb }: any) =>
    eb('organization_id', '=', organizationId)

onBothEngines('a monitor that waits', (fresh) => {
  test('reports its records as soon as a name server of the zone has them, while the resolver still denies them', async () => {
    const db = await fresh()
    const world = await givenWait(db)
    expect(await world.check()).toBe(1)
    await world.look()
    expect(await world.dueAt('due_waits')).toBe(15 * SECOND_MS)
    const regular = await world.dueAt('due_checks')
    world.pass(15 * SECOND_MS)
    await world.look()
    expect(await world.dueAt('due_checks')).toBe(regular! - 15 * SECOND_MS)

    for (const server of world.zone) server.set(NAME, 'CNAME', [TARGET])
    world.pass(16 * SECOND_MS)
    expect(await world.look()).toBe(1)
    expect(await world.dueAt('due_checks')).toBe(0)
    expect(JSON.parse((await world.wait()).seen!)).toMatchObject({
      ...{ state: 'VALID', values: [TARGET], zone: 'example.test' },
      nameServers: ['ns1.example.test', 'ns2.example.test'],
    })
    expect(await world.check()).toBe(1)

    const [first, second] = await world.events()
    expect(first).toMatchObject({ new_state: 'NOT_FOUND' })
    expect(second).toMatchObject({ old_state: 'NOT_FOUND', new_state: 'VALID', current_value: [TARGET] })
    expect(second).not.toHaveProperty('timed_out')
    expect(await world.requests()).toEqual([second!.id])
    expect((await world.monitorRow()).slot).toBe(world.monitor.slot)
    // The wait ends in the transaction of the event.
    expect(await world.wait()).toMatchObject({ result: 'valid', ended_at: expect.any(Number) })
    world.pass(MINUTE_MS)
    expect(await world.look()).toBe(0)
    const about = { monitorId: world.monitor.id, name: NAME, recordType: 'CNAME', expected: [TARGET] }
    expect(await world.information()).toEqual([{ what: 'record_found', ...about }])
    expect(await world.dueAt('due_waits')).toBeUndefined()
  })

  test('times out once, with an event that is delivered although it only reports success', async () => {
    const db = await fresh()
    const world = await givenWait(db)
    await world.check()
    world.pass(72 * HOUR_MS - MINUTE_MS)
    await world.look()
    expect(await world.dueAt('due_waits')).toBe(MINUTE_MS) // at the deadline, however rarely it looks by then
    world.pass(MINUTE_MS)
    expect(await world.look()).toBe(1)

    const [, event] = await world.events()
    expect(event).toMatchObject({
      ...{ old_state: 'NOT_FOUND', new_state: 'NOT_FOUND', timed_out: true, current_value: [], previous_value: [] },
      diagnosis: { verdict: { code: 'no_such_name' }, confirmation: [{ code: 'wait_timed_out' }] },
    })
    expect(await world.requests()).toEqual([event!.id])
    expect(await world.wait()).toMatchObject({ result: 'timed_out' })
    expect(await world.monitorRow()).toMatchObject({ incidence_count: 1, is_active: 1 })
    world.pass(HOUR_MS)
    expect(await world.look()).toBe(0)
    expect(await world.information()).toMatchObject([{ what: 'wait_timed_out', name: NAME }])
  })

  test('shows several SPF records, which are no valid answer, and no values of a CNAME loop', async () => {
    const db = await fresh()
    const world = await givenWait(db, { record_type: 'SPF', expected_value: 'v=spf1 -all' })
    const records = ['v=spf1 -all', 'v=spf1 mx -all']
    for (const server of world.zone) server.set(NAME, 'TXT', records)
    await world.look()
    expect(JSON.parse((await world.wait()).seen!)).toMatchObject({ state: 'BAD_SETUP', values: records })
    for (const server of world.zone) {
      server.reset()
      server.set(NAME, 'CNAME', [NAME])
    }
    world.pass(MINUTE_MS)
    await world.look()
    expect(JSON.parse((await world.wait()).seen!)).toMatchObject({ state: 'BAD_SETUP', values: [] })
  })

  test('is counted by the metrics once it is due', async () => {
    const db = await fresh()
    await givenWait(db)
    const { due_at } = await db.selectFrom('due_waits').select('due_at').executeTakeFirstOrThrow()
    expect(await readBacklog(db, due_at! - 1)).toMatchObject({ due_waits: 0, wait_age: 0 })
    expect(await readBacklog(db, due_at! + 30_000)).toMatchObject({ due_waits: 1, wait_age: 30_000 })
  })

  test('comes less often with its age, and asks nothing while it is disabled', async () => {
    const db = await fresh()
    const world = await givenWait(db)
    world.pass(24 * HOUR_MS)
    await world.look()
    expect(await world.dueAt('due_waits')).toBe(40_717)
    const asked = world.zone.reduce((sum, server) => sum + server.queries.total, 0)
    await db.updateTable('monitors').set({ is_active: 0 }).where('id', '=', world.monitor.id).execute()
    world.pass(49 * HOUR_MS)
    await world.look()
    expect(world.zone.reduce((sum, server) => sum + server.queries.total, 0)).toBe(asked)
    expect(await world.wait()).toMatchObject({ result: 'timed_out' })
    expect([await world.requests(), await world.information()]).toEqual([[], []])
  })
})

const ENDINGS: Record<string, (db: Database, claim: WaitClaim) => Promise<unknown>> = {
  'is found': (db, claim) => endWait(db, claim, 'valid', 0),
  'times out': (db, claim) => timeOutWait(db, claim, 0),
  'is looked at': async (db, claim) => {
    const seen = { state: 'NOT_FOUND' as const, values: [], unexpected: [], zone: null, nameServers: [] }
    await recordQuickCheck(db, claim, (await findClaimedWait(db, claim))!, { seen, queries: 1 }, 0)
  },
}

describe('locks of waits (postgres)', () => {
  test.each(Object.entries(ENDINGS))('a wait that %s while somebody stops it blocks nobody', async (_, end) => {
    const db = await freshDatabase('postgres')
    const world = await givenWait(db)
    const claim = await world.claim()
    const ending = await db.transaction().execute(async (other) => {
      await other.updateTable('waits').set({ ended_at: 0, result: 'stopped' }).execute()
      const done = end(db, claim)
      await waitUntilBlocked(db)
      await other.deleteFrom('due_waits').execute()
      return { done }
    })
    await ending.done
    expect(await world.wait()).toMatchObject({ result: 'stopped' })
  })
})
