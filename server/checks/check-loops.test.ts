import { SelectQueryNode, TableNode } from 'kysely'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { insertOrganization } from '../accounts/organizations.ts'
import { type Clock, systemClock } from '../clock.ts'
import { systemContext } from '../context.ts'
import type { Database } from '../database/database.ts'
import { createDnsClient, type DnsClientOptions } from '../dns/client.ts'
import { LoopHealth } from '../loop-health.ts'
import { Metrics } from '../metrics/metrics.ts'
import { insertMonitors } from '../monitors/insert.ts'
import { lastCheckedAt } from '../monitors/last-round.ts'
import { parseMonitor } from '../monitors/parse-monitor.ts'
import { createWakeUps } from '../queue/wake-up.ts'
import { RDATA_FORMATS } from '../record-types/record-types.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenDnsServer } from '../testing/dns.ts'
import { createFastClock } from '../testing/fast-clock.ts'
import { fingerprint } from './fingerprint.ts'
import { runQueuedChecks } from './queued-checks.ts'
import { runRounds } from './rounds.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const PROCESS = 1

/** The loop over monitors of names of their own that all are as expected, and a wall clock that can be set. */
async function givenScheduler(
  db: Database,
  count: number,
  base = systemClock,
  options: Partial<DnsClientOptions> = {},
  /** What the loop itself uses. */
  used = db,
) {
  let ahead = 0
  const clock: Clock = { ...base, now: () => base.now() + ahead }
  const server = await givenDnsServer()
  server.set('*.example.com', 'A', ['192.0.2.1'])
  const dns = createDnsClient({ formats: RDATA_FORMATS, servers: [server.address], clock, ...options })
  const { id } = await insertOrganization(db, { name: 'Test', email: 'a@example.com', passwordHash: '' }, clock.now())
  const drafts = Array.from({ length: count }, (_, at) => {
    const parsed = parseMonitor({ full_domain: `n${at}.example.com`, record_type: 'A', expected_value: '192.0.2.1' })
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors))
    return parsed.draft
  })
  await insertMonitors(db, systemContext(id, clock.now()), drafts)
  if (options.queriesPerSecond !== undefined) await asCheckedBefore(db)
  const logged: string[] = []
  const log = pino({ level: 'error' }, { write: (line: string) => void logged.push(line) })
  const stop = new AbortController()
  const metrics = new Metrics()
  const loopHealth = new LoopHealth()
  const deps = { db: used, clock, dns, log, loopHealth, wakeUps: createWakeUps(), process: PROCESS, metrics }
  const signals = { stop: stop.signal, abandon: stop.signal }
  const running = Promise.all([runQueuedChecks(deps, signals), runRounds(deps, signals)])
  const end = async () => {
    stop.abort()
    await dns.close() // what is in progress is given up
    await running
  }
  onTestFinished(end)
  const rows = async () =>
    await db.selectFrom('due_checks').selectAll().select(lastCheckedAt.as('last_checked_at')).execute()
  const checkedSince = async (instant: number) => {
    return (await rows()).filter(({ last_checked_at }) => last_checked_at !== null && last_checked_at >= instant).length
  }
  return {
    clock,
    server,
    logged,
    end,
    lostLeases: () => {
      const { values } = metrics.collect().find(({ name }) => name === 'zonewatch_lost_leases_total')!
      return values.reduce((sum, { value }) => sum + value, 0)
    },
    setClock: (ms: number) => {
      ahead += ms
    },
    checkedSince,
    allChecked: async (instant = 0) => {
      await expect.poll(() => checkedSince(instant), { interval: 50 }).toBe(count)
    },
    events: async () => await db.selectFrom('events').select('new_state').execute(),
    rows,
  }
}

/** One question each, and a check that makes an event has more. */
async function asCheckedBefore(db: Database): Promise<void> {
  const rrset = { name: '', type: 'A' as const, ttl: 300, values: ['192.0.2.1'] }
  await db.updateTable('monitors').set({ state: 'VALID', current_values: '["192.0.2.1"]' }).execute()
  const known = fingerprint({ kind: 'answer', rrset, chain: [] })
  await db.updateTable('due_checks').set({ fingerprint: known, streak: 1 }).execute()
}

const isOfMonitors = ({ from }: SelectQueryNode) =>
  from?.froms.some((table) => TableNode.is(table) && table.table.identifier.name === 'monitors') === true

onBothEngines('the loop of checks', (fresh) => {
  test('goes on at once when the clock is set forward by a day, and makes no event', async () => {
    const { clock, setClock, allChecked, events, server, logged } = await givenScheduler(await fresh(), 40)
    await allChecked()
    setClock(DAY_MS)
    await allChecked(clock.now())
    expect(await events()).toHaveLength(40)
    const before = server.queries.total
    await systemClock.sleep(600)
    expect(server.queries.total - before).toBeLessThan(5) // each has gone back to its own place
    expect(logged).toEqual([])
  })

  test('goes on when the clock is set back by a day, each monitor within its interval, and makes no event', async () => {
    const { clock, setClock, allChecked, events, rows, logged } = await givenScheduler(await fresh(), 40)
    await allChecked()
    setClock(-DAY_MS)
    const latest = async () => Math.max(...(await rows()).map(({ due_at }) => due_at!)) - clock.now()
    await expect.poll(latest).toBeLessThanOrEqual(5 * MINUTE_MS)
    const before = clock.now()
    await expect
      .poll(
        async () => {
          setClock(MINUTE_MS)
          return (await rows()).every(
            ({ last_checked_at }) => last_checked_at! >= before && last_checked_at! < before + DAY_MS / 2,
          )
        },
        { interval: 200 },
      )
      .toBe(true)
    expect(await events()).toHaveLength(40)
    expect(logged).toEqual([])
  })

  test('repeats a check at once after the database was away for a moment in the middle of it', async () => {
    const db = await fresh()
    let failures = 0
    const failing = db.withPlugin({
      transformQuery: ({ node }) => {
        if (failures === 0 && SelectQueryNode.is(node) && isOfMonitors(node)) {
          failures++
          throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
        }
        return node
      },
      transformResult: async ({ result }) => result,
    })
    const { checkedSince, events, logged } = await givenScheduler(db, 3, systemClock, {}, failing)
    await expect.poll(() => checkedSince(0), { timeout: 30_000 }).toBe(3) // a lease lasts for 60 s
    expect(await events()).toHaveLength(3)
    expect(failures).toBe(1)
    expect(logged.join()).toContain('A check was interrupted. It will be repeated.')
  })

  test('records what is in progress while the clock is set, once', async () => {
    for (const jump of [DAY_MS, -DAY_MS]) {
      const { server, setClock, allChecked, events, rows, end } = await givenScheduler(await fresh(), 40)
      server.delay('*', 300)
      await expect.poll(() => server.queries.total).toBe(40)
      setClock(jump)
      await allChecked()
      expect(await events()).toHaveLength(40)
      expect((await rows()).map(({ claimed_by }) => claimed_by)).toEqual(Array(40).fill(null))
      await end()
    }
  })

  test('puts back what a paced server has no turn for, loses none, and takes no wait for silence', async () => {
    const limits: Partial<DnsClientOptions> = { queriesPerSecond: 50, maxInFlightPerServer: 8, timeoutMs: 20_000 }
    const db = await fresh()
    const { allChecked, events, server, logged } = await givenScheduler(db, 400, createFastClock(2), limits)
    await allChecked()
    expect(await events()).toEqual([])
    expect(server.queries.total).toBeLessThan(450) // some come round again meanwhile
    expect(logged).toEqual([])
  })

  test('writes nothing about a monitor whose regular check finds what is recorded, and counts those of lost rounds', async () => {
    const db = await fresh()
    // It goes on when it is set only: otherwise the place of a monitor may come while the test looks at it.
    const startedAt = systemClock.now()
    const stopped: Clock = { ...systemClock, now: () => startedAt }
    const { allChecked, setClock, clock, server, rows, events, lostLeases } = await givenScheduler(db, 40, stopped)
    await allChecked()
    const inRounds = async () => (await rows()).filter(({ since_round }) => since_round !== null)
    // A monitor whose round is about to begin gets one more check of its own.
    for (let count = 0; count < 3; count++) {
      setClock(6 * MINUTE_MS)
      await allChecked(clock.now())
    }
    await expect.poll(async () => (await inRounds()).length).toBe(40)
    const stored = () => db.selectFrom('due_checks').selectAll().orderBy('slot').execute()
    const [before, asked, changes] = [await stored(), server.queries.total, (await events()).length]

    setClock(5 * MINUTE_MS)
    await allChecked(clock.now())

    expect(await stored()).toEqual(before)
    expect(server.queries.total).toBe(asked + 40)
    expect(await events()).toHaveLength(changes)

    expect(lostLeases()).toBe(0)
    server.delay('*', 500)
    setClock(5 * MINUTE_MS)
    await expect.poll(() => server.queries.total).toBeGreaterThan(asked + 40)
    const taken = await db
      .updateTable('due_rounds')
      .set({ claimed_by: PROCESS + 1 })
      .where('claimed_by', '=', PROCESS)
      .returning(['first_slot', 'until_slot'])
      .execute()
    const inTaken = (await rows()).filter(({ slot }) =>
      taken.some(({ first_slot, until_slot }) => slot >= first_slot && slot < until_slot),
    )
    expect(inTaken.length).toBeGreaterThan(0)
    await expect.poll(lostLeases).toBe(inTaken.length)
  })

  test('keeps the schedule of the others while many names are silent', async () => {
    const limits: Partial<DnsClientOptions> = { maxInFlightPerServer: 16, timeoutMs: 90_000 }
    const { allChecked, setClock, clock, server, rows, logged } = await givenScheduler(
      await fresh(),
      200,
      systemClock,
      limits,
    )
    await allChecked()
    for (let at = 0; at < 50; at++) server.drop(`n${at}.example.com`)
    setClock(DAY_MS)
    const since = clock.now()
    const isSilent = (owner: string) => Number.parseInt(owner.slice(1), 10) < 50
    const late = async () =>
      (await rows()).filter(({ owner, last_checked_at }) => !isSilent(owner) && last_checked_at! < since)
    await expect.poll(late, { timeout: 80_000 }).toEqual([]) // before the first silent one is given up
    expect(logged).toEqual([])
  })
})
