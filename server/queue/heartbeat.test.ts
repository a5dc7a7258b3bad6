import { pino } from 'pino'
import { expect, test } from 'vitest'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { createKeyring } from '../keyring.ts'
import { LoopHealth } from '../loop-health.ts'
import { onBothEngines } from '../testing/database.ts'
import { countWorking, registerProcess, report, runHeartbeat, unregisterProcess } from './heartbeat.ts'
import { claimDue } from './lease-queue.ts'

const here = { pid: 100, machine: 'here', isAlive: (pid: number) => pid === 100 }

onBothEngines('processes that share a database', (fresh, engine) => {
  test('one that leaves gives back what it had claimed', async () => {
    const db = await givenOneDue(await fresh())
    const id = await registerProcess(db, here, 0)
    await claimDue(db, 'due_checks', { now: 0, process: id, limit: 1 })
    await unregisterProcess(db, id, 10)
    expect(await claimDue(db, 'due_checks', { now: 10, process: 9, limit: 1 })).toHaveLength(1)
    expect(await db.selectFrom('processes').selectAll().execute()).toEqual([])
  })

  test('the claims of one that was killed on this machine are taken up at once with SQLite alone', async () => {
    const db = await givenOneDue(await fresh())
    const killed = await registerProcess(db, { ...here, pid: 77 }, 0)
    await claimDue(db, 'due_checks', { now: 0, process: killed, limit: 1 })
    const next = await registerProcess(db, here, 1)
    const taken = await claimDue(db, 'due_checks', { now: 1, process: next, limit: 1 })
    expect(taken).toHaveLength(engine === 'sqlite' ? 1 : 0)
  })

  test('one that stood still and was forgotten is there again, with what it does', async () => {
    const db = await fresh()
    const id = await registerProcess(db, here, 0)
    expect(await countWorking(db, 0)).toEqual({ checking: 1, cutOff: 0, delivering: 1 })
    const deps = doorsOf(db, id, { now: () => 60_000, elapsed: () => 60_000, sleep: async () => {} })
    deps.loopHealth.report('checker', 59_000)
    deps.loopHealth.report('delivery', 51_000)
    await db.deleteFrom('processes').execute()
    let probes = 0
    const network = async () => probes++
    await report({ ...deps, networkCheck: { lastState: () => 'offline', state: network } })
    expect(probes).toBe(1)
    expect(await countWorking(db, 68_000)).toEqual({ checking: 1, cutOff: 1, delivering: 0 })
    expect(await countWorking(db, 68_001)).toEqual({ checking: 0, cutOff: 0, delivering: 0 })
    expect(await registerProcess(db, here, 70_000)).not.toBe(id)
  })

  test('one on another machine that falls silent is taken over from with SQLite alone, one that speaks never', async () => {
    const db = await givenOneDue(await fresh())
    const other = await registerProcess(db, { ...here, machine: 'there' }, 0)
    await claimDue(db, 'due_checks', { now: 0, process: other, limit: 1 })
    const self = await registerProcess(db, here, 1_000)
    await beatUntil(db, self, 5_000)
    expect(await claimDue(db, 'due_checks', { now: 5_000, process: self, limit: 1 })).toHaveLength(0)
    await beatUntil(db, self, 8_000)
    const taken = await claimDue(db, 'due_checks', { now: 8_000, process: self, limit: 1 })
    expect(taken).toHaveLength(engine === 'sqlite' ? 1 : 0)
    const entered = await db.selectFrom('processes').select(['id', 'seen_at']).execute()
    expect(entered).toContainEqual({ id: self, seen_at: 8_000 })
  })
})

const doorsOf = (db: Database, process: number, clock: Clock) => ({
  ...{ db, clock, process, self: here, log: pino({ level: 'silent' }) },
  ...{ loopHealth: new LoopHealth(), networkCheck: undefined },
  ...{ keyring: createKeyring('x'.repeat(32)), followKey: async () => {} },
})

/** One beat at the given time. */
async function beatUntil(db: Database, process: number, now: number): Promise<void> {
  const stop = new AbortController()
  const clock: Clock = {
    now: () => now,
    elapsed: () => now,
    sleep: async () => {
      if (beats++ > 0) stop.abort()
    },
  }
  let beats = 0
  await runHeartbeat({ ...doorsOf(db, process, clock) }, { stop: stop.signal })
}

async function givenOneDue(db: Database): Promise<Database> {
  const row = {
    slot: 1,
    monitor_id: 'mon_1',
    organization_id: 'org_1',
    due_at: 0,
    owner: 'www.example.com',
    record_type: 'A',
  }
  await db
    .insertInto('due_checks')
    .values({ ...row, is_exact_match: 1, frequency: 5, streak: 0, inconclusive_count: 0 })
    .execute()
  return db
}
