import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { Cause } from '#contract/dashboard.ts'
import type { MonitorState, NewMonitor } from '#contract/monitors.ts'
import type { MonitorCheckResult } from '../checks/check-write.ts'
import { recordChecks } from '../checks/record-checks.ts'
import { systemContext } from '../context.ts'
import { insertEvents } from '../events/store.ts'
import { newId } from '../ids.ts'
import { insertMonitors } from '../monitors/insert.ts'
import { parseMonitor } from '../monitors/parse-monitor.ts'
import { registerProcess, report } from '../queue/heartbeat.ts'
import { claimChecks } from '../testing/checks.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'

const PATH = '/dashboard/api/overview'
const MINUTE = 60_000

type Given = Partial<NewMonitor> & { state?: MonitorState; current?: string[]; minutesAgo?: number; reason?: string }

/** Monitors whose checks found this, so many minutes ago. */
async function givenMonitors(world: TestApp, given: Given[], key?: string) {
  const monitors = given.map(({ state: _, current: __, minutesAgo: ___, reason: ____, ...monitor }) => ({
    record_type: 'A',
    expected_value: ['192.0.2.1'],
    ...monitor,
  }))
  const call = { method: 'POST', body: { monitors }, ...(key === undefined ? {} : { key }) }
  const made = (await world.call('/monitors/bulk', call)).body
  const { db, clock } = world.deps
  for (const [index, { state = 'VALID', current, minutesAgo, reason }] of given.entries()) {
    const { id } = made[index]
    const diagnosis = reason === undefined ? null : JSON.stringify({ reason })
    await db
      .updateTable('monitors')
      .set({ state, current_values: current ? JSON.stringify(current) : null, diagnosis })
      .where('id', '=', id)
      .execute()
    if (minutesAgo === undefined) continue
    const row = await db.selectFrom('monitors').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    const { organization_id, group_id, domain, subdomain, record_type, expected_values, is_exact_match } = row
    const at = clock.now() - minutesAgo * MINUTE
    const known = { previous_values: null, current_values: row.current_values, incidence_count: 1, diagnosis: null }
    await insertEvents(db, [
      {
        ...{ organization_id, group_id, domain, subdomain, record_type, expected_values, is_exact_match, ...known },
        id: newId('evt', at),
        monitor_id: id,
        occurred_at: at,
        old_state: 'VALID',
        new_state: state,
      },
    ])
  }
  await db
    .updateTable('due_checks')
    .set({ last_checked_at: clock.now() - MINUTE })
    .execute()
  return made.map(({ id }: { id: string }) => id) as string[]
}

onBothEngines('GET /dashboard/api/overview', (_fresh, engine) => {
  test('is empty for a new organization', async () => {
    const world = await givenApp(engine)
    expect((await world.call(PATH)).body).toEqual({
      states: {},
      active: 0,
      disabled: 0,
      failing: {
        monitors: 0,
        in_incidents: 0,
        awaited: 0,
        failed_now: 0,
        never_valid: 0,
        incidents: 0,
        acknowledged: 0,
      },
      incidents: [],
      attention: [],
      more: 0,
      changes: [],
      first_results: null,
      checks: { on_time: 0, late: 0, last_checked: null },
      webhooks: { count: 0, paused: 0, failing: 0, late: 0, trouble: [] },
      processes: { checking: 0, cut_off: 0, delivering: 0 },
      has: { monitors: false, webhooks: false, alerts: false, arrived: false },
    })
    expect((await world.call(PATH, { key: null })).status).toBe(401)
  })

  test('counts active monitors by state, disabled ones apart, and no other organization', async () => {
    const world = await givenApp(engine)
    const { key } = await world.organization('Other')
    await givenMonitors(world, [{ full_domain: 'a.example.org', state: 'TIMEOUT' }], key)
    await givenMonitors(world, [
      { full_domain: 'a.example.com' },
      { full_domain: 'b.example.com' },
      { full_domain: 'c.example.com', is_active: false },
      { full_domain: 'd.example.com', state: 'UNSET' },
      { full_domain: 'e.example.com', state: 'UNSET', is_active: false },
      { full_domain: 'f.example.com', state: 'MISMATCH', is_active: false },
      { full_domain: 'g.example.com', state: 'NO_DATA' },
    ])
    const { body } = await world.call(PATH)
    expect(body).toMatchObject({ states: { VALID: 2, UNSET: 1, NO_DATA: 1 }, active: 4, disabled: 3 })
    expect(body.attention.map(({ reason }: Cause) => reason.text)).toEqual(['g.example.com has no A record.'])
    expect((await world.call(PATH, { key })).body).toMatchObject({ states: { TIMEOUT: 1 }, active: 1, disabled: 0 })
  })

  test('counts each state right, whichever of them most monitors are in', async () => {
    const world = await givenApp(engine)
    const { db, clock } = world.deps
    const { id } = await world.organization()
    const parsed = parseMonitor({ full_domain: 'a.example.com', record_type: 'A', expected_value: '192.0.2.1' })
    if (!parsed.ok) throw new Error('not a monitor')
    for (let made = 0; made < 11_000; made += 1_000) {
      await insertMonitors(db, systemContext(id, clock.now()), Array(1_000).fill(parsed.draft))
    }
    await sql`update monitors set is_active = 0 where slot % 10 = 0`.execute(db)
    for (const [state, range] of [
      ['TIMEOUT', 'slot % 100 = 1'],
      ['VALID', 'slot % 100 < 20'],
      ['VALID', 'slot % 100 < 50'],
      ['VALID', '1 = 1'],
    ] as const) {
      await sql.raw(`update monitors set state = '${state}' where ${range}`).execute(db)
      const { rows } = await sql<{ state: string; count: number }>`select state, count(*) as count
        from monitors where is_active = 1 group by state`.execute(db)
      const { body } = await world.call(PATH)
      expect(body.states).toEqual(Object.fromEntries(rows.map((each) => [each.state, each.count])))
      expect(body.active + body.disabled).toBe(11_000)
    }
  })

  test('groups failing monitors by domain, state and answer', async () => {
    const world = await givenApp(engine)
    const wrong = { state: 'MISMATCH' as const, current: ['198.51.100.7'] }
    const ids = await givenMonitors(world, [
      { full_domain: 'a.example.com', ...wrong, minutesAgo: 9 },
      { full_domain: 'b.example.com', ...wrong, minutesAgo: 12 },
      { full_domain: 'c.example.com', ...wrong, minutesAgo: 3 },
      { full_domain: 'd.example.com', state: 'MISMATCH', current: ['203.0.113.9'], minutesAgo: 2 },
      { full_domain: 'a.example.edu', state: 'MISMATCH', current: ['192.0.2.1', '192.0.2.2'], minutesAgo: 20 },
      { full_domain: 'b.example.edu', state: 'MISMATCH', current: ['192.0.2.1', '192.0.2.2'], minutesAgo: 20 },
      { full_domain: 'www.example.info', state: 'MISMATCH', current: ['192.0.2.9'], minutesAgo: 30, reason: OTHER },
      { full_domain: 'e.example.com', state: 'TIMEOUT', minutesAgo: 5 },
      { full_domain: 'a.example.net', state: 'NOT_FOUND', current: [], minutesAgo: 1 },
      { full_domain: 'b.example.net', state: 'NOT_FOUND', current: [], minutesAgo: 1 },
      { full_domain: 'example.org', record_type: 'MX', expected_value: 'mx.example.org', ...INVALID },
      { full_domain: 'support.example.com', state: 'NOT_FOUND', current: [], minutesAgo: 8, reason: BROKEN_ALIAS },
      { full_domain: 'www.example.org' },
    ])
    const { attention, more } = (await world.call(PATH)).body
    expect(attention.map(({ reason, count }: Cause) => [count, reason.text])).toEqual([
      [3, '3 records of example.com answer 198.51.100.7 instead of 192.0.2.1.'],
      [2, '2 names of example.net do not exist (NXDOMAIN).'],
      [2, '2 records of example.edu answer 192.0.2.1 and 192.0.2.2; not expected: 192.0.2.2.'],
      [1, 'd.example.com (A) answers 203.0.113.9 instead of 192.0.2.1.'],
      [1, 'No name server answers for the A record of e.example.com.'],
      [1, BROKEN_ALIAS],
      [1, OTHER],
      [1, 'example.org cannot be resolved: the query failed (SERVFAIL).'],
    ])
    expect(attention[0]).toMatchObject({ state: 'MISMATCH', domain: 'example.com' })
    const params = { count: 3, domain: 'example.com', observed: ['198.51.100.7'], expected: ['192.0.2.1'] }
    expect(attention[0].reason).toMatchObject({ code: 'records_answer_instead', params })
    expect(attention[7].reason).toMatchObject({ code: 'unclassified' })
    expect(new Set(attention[0].monitors.map(({ id }: { id: string }) => id))).toEqual(new Set(ids.slice(0, 3)))
    expect(attention[0].monitors[0]).toMatchObject({ record_type: 'A', name: 'c.example.com' })
    const since = Date.parse(attention[0].since)
    expect(Math.abs(world.deps.clock.now() - 12 * MINUTE - since)).toBeLessThan(MINUTE)
    expect([attention[7].since, more]).toEqual([null, 0])
  })

  test.each([25, 205])(
    'with %i causes shows the largest and what has just begun, and says how many are left out',
    async (count) => {
      const world = await givenApp(engine)
      const many = Array.from({ length: count }, (_, at) => ({
        full_domain: `www.example${at}.com`,
        state: 'TIMEOUT' as const,
        ...(at === 0 ? { minutesAgo: 1 } : {}),
      }))
      await givenMonitors(world, [...many, { full_domain: 'mail.example7.com', state: 'TIMEOUT' }])
      const { attention, more } = (await world.call(PATH)).body
      expect(attention).toHaveLength(20)
      expect(attention[0]).toMatchObject({ count: 2, domain: 'example7.com' })
      expect(attention[1]).toMatchObject({ count: 1, domain: 'example0.com' })
      expect(more).toBe(count - 20)
    },
  )

  test('shows the newest changes, late checks, and webhooks that are paused, failing or late', async () => {
    const world = await givenApp(engine)
    const { db, clock } = world.deps
    const given = Array.from({ length: 12 }, (_, at) => ({ full_domain: `h${at}.example.com`, minutesAgo: at }))
    const ids = await givenMonitors(world, given)
    await db
      .updateTable('due_checks')
      .set({ due_at: clock.now() + MINUTE })
      .execute()
    const late = db.updateTable('due_checks').set({ due_at: clock.now() - 2 * MINUTE })
    await late.where('monitor_id', 'in', ids.slice(0, 2)).execute()
    const webhook = { method: 'POST', body: { url: 'http://127.0.0.1:8/hook' } }
    const [failing, id, disabled] = await Promise.all(
      [1, 2, 3, 4].map(async () => (await world.call('/webhooks', webhook)).body.id as string),
    )
    const { key } = await world.organization('Other')
    const others = (await world.call('/webhooks', { ...webhook, key })).body.id
    const wrong = db.updateTable('webhooks').set({ last_error: 'answered 500' })
    await wrong.where('id', 'in', [failing!, id!, disabled!, others]).execute()
    await db.updateTable('webhooks').set({ state: 'paused' }).where('id', '=', id!).execute()
    await db.updateTable('webhooks').set({ is_active: 0 }).where('id', '=', disabled!).execute()
    const overdue = db.updateTable('due_webhooks').set({ due_at: clock.now() - 2 * MINUTE })
    await overdue.where('webhook_id', 'in', [failing!, disabled!, others]).execute()
    const kept = Array.from({ length: 1_003 }, (_, at) => ({
      webhook_id: id!,
      request_id: `req_${at}`,
      is_manual: 0 as const,
    }))
    await db
      .insertInto('due_requests')
      .values(kept.map((each) => ({ ...each, due_at: null, claimed_by: null })))
      .execute()
    const { body } = await world.call(PATH)
    expect(body.changes.map(({ monitor_id }: { monitor_id: string }) => monitor_id)).toEqual(ids.slice(0, 10))
    expect(body.checks).toMatchObject({ on_time: 10, late: 2, last_checked: expect.any(String) })
    expect(body.webhooks).toEqual({
      count: 4,
      paused: 1,
      failing: 1,
      late: 1,
      trouble: [
        { id, url: 'http://127.0.0.1:8/hook', health: 'paused', last_error: 'answered 500', waiting: 1_000 },
        { id: failing, url: 'http://127.0.0.1:8/hook', health: 'failing', last_error: 'answered 500', waiting: 0 },
      ],
    })
    expect(body.has).toEqual({ monitors: true, webhooks: true, alerts: false, arrived: false })
  })

  test('the first steps do not begin again when the channel or webhook that received something is deleted', async () => {
    for (const kind of ['channel', 'webhook'] as const) {
      const world = await givenApp(engine)
      const { db } = world.deps
      const arrived = async () => (await world.call(PATH)).body.has.arrived
      const create = async (path: string, body: object) => (await world.call(path, { method: 'POST', body })).body.id
      const remove = async (path: string) => (await world.call(path, { method: 'DELETE' })).status
      const given = () =>
        kind === 'channel'
          ? create('/channels', {
              name: 'Chat',
              type: 'slack',
              settings: { webhook_url: 'https://hooks.slack.com/services/T0/B0/token' },
            })
          : create('/webhooks', { url: 'http://127.0.0.1:8/hook' })
      const path = kind === 'channel' ? '/channels' : '/webhooks'
      const unused = await given()
      expect([await remove(`${path}/${unused}`), await arrived()]).toEqual([204, false])
      const used = await given()
      if (kind === 'channel') await db.updateTable('channels').set({ last_sent_at: 1 }).where('id', '=', used).execute()
      else await db.updateTable('webhooks').set({ last_executed_at: 1 }).where('id', '=', used).execute()
      expect(await arrived()).toBe(true)
      expect([await remove(`${path}/${used}`), await arrived()]).toEqual([204, true])
    }
  })

  test('first results are no changes, and those of a day are one line', async () => {
    const world = await givenApp(engine)
    const given = Array.from({ length: 60 }, (_, at) => ({ full_domain: `h${at}.example.com`, minutesAgo: at }))
    const [changed] = await givenMonitors(world, [{ full_domain: 'old.example.com', minutesAgo: 90 }, ...given])
    const first = world.deps.db.updateTable('events').set({ old_state: 'UNSET' })
    await first.where('monitor_id', '!=', changed!).execute()
    const { body } = await world.call(PATH)
    expect(body.changes.map(({ monitor_id }: { monitor_id: string }) => monitor_id)).toEqual([changed])
    expect(body.first_results.count).toBe(60)
    expect(Date.parse(body.first_results.to) - Date.parse(body.first_results.from)).toBeGreaterThan(58 * MINUTE)
    const feed = async (query: string) =>
      (await world.call(`/dashboard/api/events?limit=20&order_way=desc&${query}`)).body
    for (const filter of ['', '&group=default', '&new_state=VALID', '&group=default&new_state=VALID']) {
      expect((await feed(`is_change=true${filter}`)).data).toHaveLength(1)
    }
    expect((await feed('is_change=true&old_state=UNSET')).data).toEqual([])
    const [newest, all] = [await feed('old_state=UNSET'), await feed('')]
    expect([newest.has_more, all.data]).toEqual([true, newest.data])
    expect((await world.call(`/dashboard/api/events?is_change=true&after=${all.after}`)).status).toBe(400)
    expect((await world.call('/dashboard/api/events.csv?is_change=true')).text.trim().split('\r\n')).toHaveLength(2)
    world.pass(25 * 60 * MINUTE)
    expect((await world.call(PATH)).body.first_results).toBe(null)
  })

  test('shows within 15 seconds that no process checks or delivers, and that canary names fail', async () => {
    const world = await givenApp(engine)
    const { db, clock, loopHealth, log } = world.deps
    const self = { pid: 1, machine: 'elsewhere', isAlive: () => true }
    const process = await registerProcess(db, self, clock.now())
    const working = async () => (await world.call(PATH)).body.processes
    expect(await working()).toEqual({ checking: 1, cut_off: 0, delivering: 1 })
    let network: 'ok' | 'offline' = 'ok'
    const say = () =>
      report({
        db,
        clock,
        loopHealth,
        log,
        self,
        process,
        keyring: world.deps.keyring,
        networkCheck: { lastState: () => network, state: async () => network },
      })
    loopHealth.report('checker', clock.elapsed())
    await say()
    expect(await working()).toEqual({ checking: 1, cut_off: 0, delivering: 0 })
    network = 'offline'
    await say()
    expect(await working()).toEqual({ checking: 1, cut_off: 1, delivering: 0 })
    world.pass(9_000)
    expect(await working()).toEqual({ checking: 0, cut_off: 0, delivering: 0 })
  })

  test('checks that are postponed again and again are late, and no longer once one has ended', async () => {
    const world = await givenApp(engine)
    const { db, clock } = world.deps
    await givenMonitors(world, [{ full_domain: 'a.example.com' }, { full_domain: 'b.example.com' }])
    const checksAfter = async (...kinds: ('postponed' | 'unchanged')[]) => {
      await db.updateTable('due_checks').set({ due_at: clock.now() }).execute()
      const claims = await claimChecks(db, { now: clock.now(), process: 1, limit: 2 })
      const results = claims.map((claim, index) => ({
        ...{ claim, startedAt: clock.now(), at: clock.now() },
        ...{ kind: kinds[index]!, afterMs: 30_000 },
      }))
      await recordChecks(db, results as MonitorCheckResult[], clock.now())
      return (await world.call(PATH)).body.checks
    }
    for (let round = 0; round < 3; round++) {
      expect(await checksAfter('postponed', 'postponed')).toMatchObject({ late: 0, on_time: 2 })
      world.pass(25_000)
    }
    expect(await checksAfter('postponed', 'postponed')).toMatchObject({ late: 2, on_time: 0 })
    expect(await checksAfter('unchanged', 'postponed')).toMatchObject({ late: 1, on_time: 1 })
    await world.call('/groups/default/monitors', { method: 'PATCH', body: { is_active: false } })
    expect((await world.call(PATH)).body.checks).toMatchObject({ late: 0, on_time: 0 })
  })

  test('late checks of others are not counted, however many there are', async () => {
    const world = await givenApp(engine)
    await givenMonitors(world, [{ full_domain: 'a.example.com' }])
    const { id } = await world.organization('Other')
    const places = 'slot, monitor_id, organization_id, due_at, owner, record_type, is_exact_match, frequency'
    const numbers =
      engine === 'sqlite' ? 'with recursive n(i) as (select 1 union all select i + 1 from n where i < 21000)' : ''
    const from = engine === 'sqlite' ? 'n' : 'generate_series(1, 21000) as n(i)'
    await sql
      .raw(`insert into due_checks (${places}) ${numbers}
        select i, 'mon_' || i, '${id}', 1, 'x.example', 'A', 1, 5 from ${from}`)
      .execute(world.deps.db)
    await world.deps.db.updateTable('due_checks').set({ due_at: 1 }).where('owner', '=', 'a.example.com').execute()
    expect((await world.call(PATH)).body.checks).toMatchObject({ on_time: 0, late: 1 })
  })
})

const OTHER = 'www.example.info answers 192.0.2.9 instead of 192.0.2.1.'
const BROKEN_ALIAS = 'support.example.com points to gone.example (CNAME), which does not exist (NXDOMAIN).'
const INVALID = { state: 'INVALID', reason: 'example.org cannot be resolved: the query failed (SERVFAIL).' } as const
