import { expect, test } from 'vitest'
import { systemClock } from '../clock.ts'
import { systemContext } from '../context.ts'
import { inTransaction } from '../database/database.ts'
import { givenChecks } from '../testing/checks.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenRecordingDatabase } from '../testing/query-plans.ts'
import { givenApp, type TestApp } from '../testing/test-app.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../times.ts'
import { deleteOldGaps } from './check-history-store.ts'
import { deleteMonitors, restoreMonitors, snapshotOf } from './delete.ts'
import { lockMonitor } from './store.ts'
import { updateMonitor } from './update.ts'
import { getUptime, getUptimes, sumUptimes } from './uptime-store.ts'

/** When `givenChecks` begins. */
const START = Date.UTC(2026, 10, 21, 9, 30)
const midnight = START - (START % DAY_MS)

onBothEngines('uptime', (fresh, engine) => {
  /** A monitor that was VALID at its first check, a minute after the start. Then one check is due in each 5 minutes. */
  const given = async () => {
    const db = await fresh()
    await db
      .updateTable('migrations' as never)
      .set({ applied_at: 0 } as never)
      .execute()
    const checks = await givenChecks(db)
    checks.set('www.example.com', 'A', ['192.0.2.1'])
    const id = await checks.monitor({ record_type: 'A', expected_value: '192.0.2.1' })
    let now = START
    const check = async (afterMs: number) => {
      now += afterMs
      return await checks.check({ afterMs })
    }
    const context = () => systemContext(checks.organizationId, now)
    await check(MINUTE_MS)
    return {
      ...{ db, ...checks, id, check, context, now: () => now },
      seconds: async (days: number) => (await getUptime(db, context(), id, days)).days.map(({ seconds }) => seconds),
      rows: () => db.selectFrom('state_days').selectAll().orderBy('day').execute(),
    }
  }

  test('is written with the event: an unchanged check and a change of the values alone write nothing', async () => {
    const { set, check, rows, seconds, now } = await given()
    const first = await rows()
    expect(first.map(({ day, spans }) => [day, JSON.parse(spans)])).toEqual([
      [
        midnight,
        [
          [null, START - midnight],
          ['UNSET', MINUTE_MS],
        ],
      ],
    ])
    for (let count = 0; count < 3; count++) expect(await check(5 * MINUTE_MS)).toBe(0)
    expect(await rows()).toEqual(first)

    set('www.example.com', 'A', ['192.0.2.9'])
    expect(await check(5 * MINUTE_MS)).toBe(1)
    const second = await rows()
    expect(JSON.parse(second[0]!.spans).at(-1)).toEqual(['VALID', 20 * MINUTE_MS])
    set('www.example.com', 'A', ['192.0.2.10'])
    expect(await check(5 * MINUTE_MS)).toBe(1)
    expect(await rows()).toEqual(second)
    expect(await seconds(1)).toEqual([{ UNSET: 60, VALID: 1_200, MISMATCH: (now() - START) / 1_000 - 1_260 }])
  })

  test('an event after months writes one row, and the time without checks was not checked', async () => {
    const { set, check, rows, seconds } = await given()
    set('www.example.com', 'A', ['192.0.2.9'])
    await check(100 * DAY_MS)

    expect(await rows()).toHaveLength(2)
    const days = await seconds(90)
    expect(days.slice(0, -1)).toEqual(Array.from({ length: 89 }, () => ({ NOT_CHECKED: 86_400 })))
    // The clock of the test moves on with each pause of a check.
    expect(Object.keys(days.at(-1)!)).toEqual(['NOT_CHECKED'])
    await check(5 * MINUTE_MS)
    expect((await seconds(1))[0]).toMatchObject({ MISMATCH: 300 })
  })

  test('an edit makes it UNSET, and a disabled monitor is in no state', async () => {
    const { db, context, id, check, seconds } = await given()
    for (let count = 0; count < 5; count++) await check(5 * MINUTE_MS)
    await updateMonitor(db, context(), id, { expected_value: ['192.0.2.2'] })
    await check(MINUTE_MS)
    await updateMonitor(db, context(), id, { is_active: false })
    await check(HOUR_MS)
    expect(await seconds(1)).toEqual([{ UNSET: 120, VALID: 1_500, PAUSED: 3_600 }])
    await updateMonitor(db, context(), id, { is_active: true })
    await check(MINUTE_MS)
    await check(5 * MINUTE_MS)
    expect(await seconds(1)).toEqual([{ UNSET: 120, VALID: 1_500, MISMATCH: 360, PAUSED: 3_600 }])
  })

  test('the days go with the monitor, and of a restored one nothing is known before', async () => {
    const { db, context, id, check, seconds, rows, now } = await given()
    await check(HOUR_MS)
    const row = await inTransaction(db, async (transaction) => {
      const locked = await lockMonitor(transaction, context(), id)
      await deleteMonitors(transaction, context(), [locked], now())
      return locked
    })
    expect(await rows()).toEqual([])
    await inTransaction(db, (transaction) =>
      restoreMonitors(transaction, context(), [{ snapshot: snapshotOf(row), checkAt: now() }], now()),
    )
    await check(MINUTE_MS)
    await check(5 * MINUTE_MS)
    const [today] = await seconds(1)
    expect(today).toEqual({ VALID: 360 })
  })

  test('days are deleted after 400, and the state that began before them is still known', async () => {
    const { db, check, set, rows, now, seconds } = await given()
    for (let day = 0; day < 3; day++) {
      set('www.example.com', 'A', [`192.0.2.${day % 2 === 0 ? 9 : 1}`])
      await check(DAY_MS)
    }
    expect(await rows()).toHaveLength(4)
    const before = await seconds(2)
    const clock = { ...systemClock, now: () => now() + 399 * DAY_MS, sleep: async () => {} }
    await deleteOldGaps({ db, clock }, new AbortController().signal)
    expect(await rows()).toHaveLength(2)
    expect(await seconds(2)).toEqual(before)
  })

  test('each statement of a read uses an index, and their number does not grow with the monitors', async () => {
    const { db, plansOf } = await givenRecordingDatabase(engine)
    const context = systemContext('org_1', systemClock.now())
    const plans = await plansOf(async () => {
      await getUptimes(db, context, ['mon_1', 'mon_2', 'mon_3'], 30)
      await sumUptimes(db, context, { column: 'group_id', value: 'grp_1' }, 90)
      await sumUptimes(db, context, { column: 'domain', value: 'example.com' }, 90)
    })
    const read = plans.filter(({ sql }) => !/from "?migrations/.test(sql))
    expect(read.length).toBeLessThan(12)
    for (const { sql, plan } of read) {
      expect(plan, sql).not.toMatch(/SCAN (?!json_each|round_gaps USING)|Seq Scan|TEMP B-TREE FOR ORDER BY(?! )$/)
    }
  })
})

async function givenMonitors(world: TestApp) {
  const create = async (full_domain: string, group: string) =>
    (
      await world.call('/monitors', {
        method: 'POST',
        body: { full_domain, record_type: 'A', expected_value: '192.0.2.1', group },
      })
    ).body.id as string
  const ids = [await create('www.example.com', 'shop'), await create('api.example.com', 'shop')]
  const other = await create('www.example.org', 'default')
  await world.call('/zones', { method: 'POST', body: { name: 'example.com' } })
  return { ids, other }
}

test('the uptime of a monitor, of several, of a group and of a zone; as CSV; and of no other organization', async () => {
  const world = await givenApp('sqlite')
  const { ids, other } = await givenMonitors(world)
  world.pass(HOUR_MS)
  const [first] = ids
  const { body: one } = await world.call(`/monitors/${first}/uptime`)
  expect(one.days).toHaveLength(90)
  expect(one).toMatchObject({ valid_percent: null, known_seconds: 0 })
  expect((await world.call(`/monitors/${first}/uptime?days=400`)).body.days).toHaveLength(400)

  const many = (await world.call(`/monitors/uptime?ids=${ids[1]},mon_none,${ids[0]},${ids[1]}`)).body.data
  expect(many.map(({ monitor_id }: { monitor_id: string }) => monitor_id)).toEqual([ids[1], ids[0]])
  expect(many[0].days).toHaveLength(30)

  for (const path of ['/groups/shop/uptime', '/zones/example.com/uptime'])
    expect((await world.call(`${path}?days=2`)).body).toMatchObject({ monitors: 2, valid_percent: null })
  expect((await world.call('/groups/default/uptime')).body).toMatchObject({ monitors: 1 })

  const csv = await world.call(`/monitors/${other}/uptime.csv?days=2`)
  expect(csv.headers['content-type']).toMatch('text/csv')
  const [header, ...lines] = csv.text.trimEnd().split('\r\n')
  expect(header).toBe('date,UNSET,VALID,INVALID,TIMEOUT,MISMATCH,NOT_FOUND,NO_DATA,BAD_SETUP,PAUSED,NOT_CHECKED')
  expect(lines).toHaveLength(2)

  const { key } = await world.organization('Other')
  expect((await world.call(`/monitors/uptime?ids=${first}`, { key })).body).toEqual({ data: [] })
  for (const path of [`/monitors/${first}/uptime`, '/groups/shop/uptime', '/zones/example.com/uptime'])
    expect((await world.call(path, { key })).status).toBe(404)
  for (const query of ['?days=0', '?days=401', '?format=csv'])
    expect((await world.call(`/monitors/${first}/uptime${query}`)).status).toBe(400)
  const tooMany = Array.from({ length: 101 }, (_, index) => `mon_${index}`).join()
  expect((await world.call(`/monitors/uptime?ids=${tooMany}`)).body.errors).toEqual({
    ids: 'must have at most 100 entries.',
  })
})
