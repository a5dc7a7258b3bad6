import { expect, test } from 'vitest'
import type { MonitorCheckResult } from '../checks/check-write.ts'
import { CLOCK_STEP_REPAIR, recordChecks } from '../checks/record-checks.ts'
import { repairAfterClockStep } from '../queue/lease-queue.ts'
import { claimChecks } from '../testing/checks.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenApp } from '../testing/test-app.ts'
import { DAY_MS, MINUTE_MS } from '../times.ts'
import { checkHistory } from './check-history.ts'
import { CHECK_HISTORY_MS, deleteOldGaps, getOrganizationHistory } from './check-history-store.ts'
import { nextDueAt } from './slots.ts'

const INTERVAL_MS = 5 * MINUTE_MS
const STEP_MS = 4_000

onBothEngines('the proof of checks', (_fresh, engine) => {
  /** A monitor of 5 minutes, and a process that checks it while the test lets time pass. */
  const given = async () => {
    const world = await givenApp(engine)
    const { db, clock } = world.deps
    const record = { full_domain: 'www.example.com', record_type: 'A', expected_value: ['192.0.2.1'], frequency: 5 }
    const { body: monitor } = await world.call('/monitors', { method: 'POST', body: record })
    const check = async (kind: 'unchanged' | 'withheld' = 'unchanged') => {
      const now = clock.now()
      const claims = await claimChecks(db, { now, process: 1, limit: 100 })
      const times = { startedAt: now, at: now }
      const created_at = Date.parse(monitor.created)
      const results = claims.map((claim) => ({ claim, ...times, kind, afterMs: 60_000, row: { created_at } }))
      await recordChecks(
        db,
        results.filter(({ claim }) => !claim.read || kind !== 'unchanged') as MonitorCheckResult[],
        now,
      )
    }
    const runFor = async (ms: number, kind?: 'withheld') => {
      for (let passed = 0; passed < ms; passed += STEP_MS) {
        world.pass(STEP_MS)
        await check(kind)
      }
    }
    // Then a check is due 100 s before each step of the interval.
    const { slot } = await db.selectFrom('due_checks').select('slot').executeTakeFirstOrThrow()
    await check()
    await runFor(nextDueAt(clock.now(), { slot, frequency: 5 }) - clock.now() + 100_000)
    return {
      ...world,
      path: `/monitors/${monitor.id}`,
      slot,
      now: () => clock.now(),
      runFor,
      async proof(query = '') {
        return (await world.call(`/monitors/${monitor.id}/checks${query}`)).body
      },
    }
  }

  test('a period in which each check was in time has no gap, and stores nothing', async () => {
    const { runFor, proof, deps } = await given()

    await runFor(6 * INTERVAL_MS)

    expect(await proof()).toMatchObject({ due: 7, done: 7, late: 0, missed: 0, withheld: 0, gap_count: 0, gaps: [] })
    expect(await deps.db.selectFrom('round_gaps').selectAll().execute()).toEqual([])
    expect(await deps.db.selectFrom('check_gaps').selectAll().execute()).toEqual([])
  })

  test('while the server is stopped, checks are missed, and the gap has its dates', async () => {
    const { runFor, pass, proof, call, path } = await given()
    await runFor(2 * INTERVAL_MS)
    const { last_checked } = (await call(path)).body

    pass(6 * INTERVAL_MS)
    expect(await proof()).toMatchObject({ longest_gap: { since: last_checked, until: null } })
    await runFor(STEP_MS)
    const resumed = (await call(path)).body.last_checked
    await runFor(2 * INTERVAL_MS)

    const stopped = { since: last_checked, until: resumed }
    const summary = await proof()
    expect(summary).toMatchObject({ due: 11, late: 1, withheld: 0, longest_gap: stopped, gaps: [stopped] })
    expect([summary.missed, summary.done]).toEqual([5, 6])
    expect(await proof(`?since=${resumed}`)).toMatchObject({ late: 0, missed: 0, gap_count: 0 })
    const all = (await call('/organization/checks')).body
    expect(all).toMatchObject({ monitors: 1, due: 11, done: 6, missed: 5, longest_gap: stopped })
  })

  test('a check without a result is withheld, until one has a result', async () => {
    const { runFor, proof } = await given()
    await runFor(2 * INTERVAL_MS)
    await runFor(3 * INTERVAL_MS, 'withheld')
    await runFor(2 * INTERVAL_MS)

    const { due, done, missed, withheld, gap_count } = await proof()
    expect([due, missed, gap_count]).toEqual([8, 0, 1])
    expect(done + withheld).toBe(8)
    expect([2, 3]).toContain(withheld)
  })

  test('a disabled monitor has nothing due, and another interval counts from its start', async () => {
    const { runFor, proof, call, path, pass, now, slot } = await given()
    await runFor(2 * INTERVAL_MS)
    await call(`${path}/disable`, { method: 'POST' })
    pass(10 * INTERVAL_MS)
    await call(`${path}/enable`, { method: 'POST' })
    await runFor(2 * INTERVAL_MS)
    await call(path, { method: 'PATCH', body: { frequency: 10 } })
    await runFor(nextDueAt(now(), { slot, frequency: 10 }) - now() + 10 * MINUTE_MS + 100_000)

    expect(await proof()).toMatchObject({ due: 7, done: 7, late: 0, missed: 0, gap_count: 0 })
  })

  test('after the clock was set back, each check is made and none is missing', async () => {
    const { runFor, proof, pass, now, deps } = await given()
    await runFor(6 * INTERVAL_MS)
    const before = await proof()

    pass(-4 * INTERVAL_MS)
    for (const table of ['due_rounds', 'due_checks'] as const)
      await repairAfterClockStep(deps.db, table, { now: now(), process: 2 }, CLOCK_STEP_REPAIR)
    await runFor(8 * INTERVAL_MS)

    expect(before).toMatchObject({ due: 7, done: 7, missed: 0, gap_count: 0 })
    const { due, missed } = await proof()
    expect({ due, missed }).toEqual({ due: 11, missed: 0 })
  })

  test('a gap is deleted after its retention, and the period begins with it', async () => {
    const { runFor, pass, proof, now, deps } = await given()
    await runFor(INTERVAL_MS)
    pass(3 * INTERVAL_MS)
    await runFor(2 * INTERVAL_MS)
    const db = deps.db
    const clock = { ...deps.clock, now: () => now() + CHECK_HISTORY_MS + DAY_MS }

    await deleteOldGaps({ db, clock }, AbortSignal.timeout(60_000))

    expect(await db.selectFrom('round_gaps').selectAll().execute()).toEqual([])
    pass(CHECK_HISTORY_MS + DAY_MS)
    const { since, until } = await proof('?since=2000-01-01')
    expect(Date.parse(until) - Date.parse(since)).toBe(CHECK_HISTORY_MS)
  })

  test('the proof of an organization runs once at a time, ends with its client, and has a bound', async () => {
    const { call, pass, runFor, organization, deps, now } = await given()
    for (const name of ['b', 'c']) {
      const body = { full_domain: `${name}.example.com`, record_type: 'A', expected_value: ['192.0.2.1'], frequency: 5 }
      await call('/monitors', { method: 'POST', body })
    }
    await runFor(2 * INTERVAL_MS)
    pass(2 * INTERVAL_MS)
    await runFor(INTERVAL_MS)

    // The first of two may end before the other one begins.
    const statuses = new Set<number>()
    for (let tries = 0; tries < 100 && !statuses.has(429); tries++) {
      const responses = await Promise.all([call('/organization/checks'), call('/organization/checks')])
      for (const { status } of responses) statuses.add(status)
    }
    expect([...statuses].sort()).toEqual([200, 429])
    const { body } = await call('/organization/checks')
    expect(body).toMatchObject({ monitors: 3, gap_count: 3 })

    const tenant = { organizationId: (await organization()).id }
    const period = { since: Date.parse(body.since), until: now() }
    const read = (stop: AbortSignal, maxGaps?: number) =>
      getOrganizationHistory(deps.db, tenant, period, now(), { stop, ...(maxGaps !== undefined && { maxGaps }) })
    expect(await read(AbortSignal.abort())).toMatchObject({ monitors: 0 })
    await expect(read(AbortSignal.timeout(60_000), 2)).rejects.toMatchObject({
      status: 400,
      errors: { since: { code: 'too_many_gaps' } },
    })
  })

  test('another organization does not see it, and an empty period is refused', async () => {
    const { call, organization, path } = await given()
    const { key } = await organization('Other')

    expect((await call(`${path}/checks`, { key })).status).toBe(404)
    expect((await call('/organization/checks', { key })).body).toMatchObject({ monitors: 0, due: 0 })
    const refused = await call(`${path}/checks?since=2026-02-01&until=2026-01-01`)
    expect(refused.body).toMatchObject({ code: 400, errors: { until: expect.any(String) } })
  })

  test('a period before the monitor existed is empty, and does not end before it begins', async () => {
    const { proof } = await given()
    const before = await proof('?since=2020-01-01&until=2020-01-02')
    expect(before).toMatchObject({ due: 0, done: 0, since: before.until, longest_gap: null })
  })
})

// Before, this took minutes: each change was compared with each other.
test('a monitor that was enabled and disabled thousands of times', () => {
  const changes = 20_000
  const past = Array.from({ length: changes }, (_, index) => ({
    until_at: (index + 1) * 7 * MINUTE_MS,
    frequency: index % 2 === 0 ? 5 : 0,
    last_checked_at: null,
  }))
  const now = (changes + 1) * 7 * MINUTE_MS
  const monitor = { slot: 0, frequency: 5, createdAt: 0, lastCheckedAt: null, postponedSince: null, past }
  const { due, missed, gaps } = checkHistory(monitor, [], { since: 0, until: now }, now)
  expect([due, gaps.length]).toEqual([missed, changes / 2 + 1])
})
