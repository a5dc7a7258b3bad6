import fc from 'fast-check'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { Database } from '../database/database.ts'
import { onBothEngines } from '../testing/database.ts'
import { givenRecordingDatabase } from '../testing/query-plans.ts'
import { claimDue, releaseClaims, releaseUnknown, reschedule } from './lease-queue.ts'

onBothEngines('the due-row mechanism', (fresh) => {
  test('several claimers at once take every due row, and none twice', async () => {
    const db = await fresh()
    await insertDue(db, 500, { dueAt: 1_000 })
    const claimed = (
      await Promise.all([1, 2, 3, 4].map((process) => claimAll(db, { now: 2_000, process, limit: 37 })))
    ).flat()
    expect(claimed).toHaveLength(500)
    expect(new Set(claimed.map(({ monitor_id }) => monitor_id)).size).toBe(500)
  })

  test('what is overdue longest is claimed first, and what is not due stays', async () => {
    const db = await fresh()
    await insertDue(db, 10, { dueAt: (index) => 1_000 - index * 100 })
    const claimed = await claimDue(db, 'due_checks', { now: 400, process: 1, limit: 2 })
    expect(claimed.map(({ monitor_id }) => monitor_id).sort()).toEqual(['mon_8', 'mon_9'])
    expect(await claimAll(db, { now: 400, process: 1, limit: 10 })).toHaveLength(2)
  })

  test('a claim says when its row was due, also where the lease of another one ran out', async () => {
    const db = await fresh()
    await insertDue(db, 1, { dueAt: 700 })
    const [first] = await claimDue(db, 'due_checks', { now: 1_000, process: 1, limit: 1, leaseMs: 100 })
    const [second] = await claimDue(db, 'due_checks', { now: 1_200, process: 2, limit: 1, leaseMs: 100 })
    expect([first!.was_due_at, second!.was_due_at]).toEqual([700, 700])
    await reschedule(db, 'due_checks', [{ claim: second!, set: { due_at: 6_000 } }])
    const [next] = await claimDue(db, 'due_checks', { now: 6_500, process: 2, limit: 1 })
    expect(next!.was_due_at).toBe(6_000)
  })

  test('a write-back after the lease ran out and another took the row changes nothing', async () => {
    const db = await fresh()
    await insertDue(db, 1, { dueAt: 0 })
    const [late] = await claimDue(db, 'due_checks', { now: 0, process: 1, limit: 1, leaseMs: 100 })
    const [taken] = await claimDue(db, 'due_checks', { now: 100, process: 2, limit: 1, leaseMs: 100 })
    expect(await reschedule(db, 'due_checks', [{ claim: late!, set: { due_at: 5_000, streak: 9 } }])).toEqual([])
    expect(await reschedule(db, 'due_checks', [{ claim: taken!, set: { due_at: 6_000, streak: 2 } }])).toEqual([taken])
    expect(await allRows(db)).toMatchObject([{ due_at: 6_000, claimed_by: null, streak: 2 }])
  })

  test("one process's own claim from before does not pass for its later one", async () => {
    const db = await fresh()
    await insertDue(db, 1, { dueAt: 0 })
    const [first] = await claimDue(db, 'due_checks', { now: 0, process: 1, limit: 1, leaseMs: 100 })
    await claimDue(db, 'due_checks', { now: 101, process: 1, limit: 1, leaseMs: 100 })
    expect(await reschedule(db, 'due_checks', [{ claim: first!, set: { due_at: 5_000 } }])).toEqual([])
  })

  test('of two claims of one row in one write-back only the one that still holds counts', async () => {
    const db = await fresh()
    await insertDue(db, 1, { dueAt: 0 })
    const [first] = await claimDue(db, 'due_checks', { now: 0, process: 1, limit: 1, leaseMs: 100 })
    const [second] = await claimDue(db, 'due_checks', { now: 101, process: 1, limit: 1, leaseMs: 100 })
    const back = (claim: typeof first) => ({ claim: claim!, set: { due_at: 5_000 } })
    expect(await reschedule(db, 'due_checks', [back(first), back(second)])).toEqual([second])
  })

  test('what a dead process had claimed is due again once released, and what others hold is not', async () => {
    const db = await fresh()
    await insertDue(db, 4, { dueAt: 0 })
    await claimDue(db, 'due_checks', { now: 0, process: 1, limit: 2 })
    const others = await claimDue(db, 'due_checks', { now: 0, process: 2, limit: 2 })
    await releaseClaims(db, [1], 10)
    const again = await claimAll(db, { now: 10, process: 3, limit: 10 })
    expect(again).toHaveLength(2)
    expect(again.map((row) => row.monitor_id)).not.toContain(others[0]!.monitor_id)
    expect(again.map((row) => row.was_due_at)).toEqual([0, 0])
  })

  test('what a process does not know to hold is due again since it first was', async () => {
    const db = await fresh()
    await insertDue(db, 2, { dueAt: 700 })
    const [held] = await claimDue(db, 'due_checks', { now: 1_000, process: 1, limit: 2 })
    await releaseUnknown(db, 'due_checks', { process: 1, held: new Set([held!.slot]), now: 2_000 })
    const again = await claimDue(db, 'due_checks', { now: 2_000, process: 1, limit: 2 })
    expect(again.map((row) => row.was_due_at)).toEqual([700])
  })

  test('over any order of claims, write-backs, deaths and time passing, no row is held twice or lost', async () => {
    const step = fc.oneof(
      fc.record({
        do: fc.constant('claim' as const),
        process: fc.integer({ min: 1, max: 3 }),
        limit: fc.integer({ min: 1, max: 6 }),
      }),
      fc.record({ do: fc.constant('back' as const), process: fc.integer({ min: 1, max: 3 }) }),
      fc.record({ do: fc.constant('die' as const), process: fc.integer({ min: 1, max: 3 }) }),
      fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 150 }) }),
    )
    const db = await fresh()
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        await db.deleteFrom('due_checks').execute()
        await insertDue(db, 8, { dueAt: 0 })
        const held = new Map<number, Awaited<ReturnType<typeof claimAll>>>([1, 2, 3].map((process) => [process, []]))
        let now = 0
        for (const each of steps) {
          if (each.do === 'wait') now += each.ms
          if (each.do === 'claim') {
            const claims = await claimDue(db, 'due_checks', {
              now,
              process: each.process,
              limit: each.limit,
              leaseMs: 100,
            })
            const live = [...held.values()].flat().filter((claim) => claim.due_at > now)
            for (const claim of claims) expect(live.map((other) => other.monitor_id)).not.toContain(claim.monitor_id)
            held.get(each.process)!.push(...claims)
          }
          if (each.do === 'back') {
            const claims = held.get(each.process)!
            held.set(each.process, [])
            const latest = new Map(claims.map((claim) => [claim.monitor_id, claim])) // a statement takes each row once
            const kept = await reschedule(
              db,
              'due_checks',
              [...latest.values()].map((claim) => ({ claim, set: { due_at: now + 50 } })),
            )
            for (const claim of latest.values()) if (claim.due_at > now) expect(kept).toContain(claim)
          }
          if (each.do === 'die') held.set(each.process, [])
        }
        expect(await claimAll(db, { now: now + 1_000, process: 9, limit: 3 })).toHaveLength(8)
      }),
      { numRuns: 30 },
    )
  })
})

test('PostgreSQL finds each row of a write-back by its key, not among all with the same lease', async () => {
  const { db, plansOf } = await givenRecordingDatabase('postgres', { kind: 'update' })
  await insertDue(db, 500, { dueAt: (index) => index })
  await sql`analyze due_checks`.execute(db) // when it does, few rows are claimed
  const claims = await claimDue(db, 'due_checks', { now: 1_000, process: 1, limit: 500 })
  const plans = await plansOf(() =>
    reschedule(
      db,
      'due_checks',
      claims.map((claim) => ({ claim, set: { due_at: 1 } })),
    ),
  )
  expect(plans).toHaveLength(1)
  expect(plans[0]!.plan).toMatch(/Index Cond: \(slot = /)
})

async function claimAll(db: Database, options: { now: number; process: number; limit: number }) {
  const all = []
  for (;;) {
    const claims = await claimDue(db, 'due_checks', options)
    if (claims.length === 0) return all
    all.push(...claims)
  }
}

function allRows(db: Database) {
  return db.selectFrom('due_checks').selectAll().execute()
}

async function insertDue(db: Database, count: number, { dueAt }: { dueAt: number | ((index: number) => number) }) {
  const rows = Array.from({ length: count }, (_, index) => ({
    slot: index * 7919,
    monitor_id: `mon_${index}`,
    organization_id: 'org_1',
    due_at: typeof dueAt === 'number' ? dueAt : dueAt(index),
    owner: 'www.example.com',
    record_type: 'A',
    is_exact_match: 1 as const,
    frequency: 5,
    streak: 0,
    inconclusive_count: 0,
  }))
  await db.insertInto('due_checks').values(rows).execute()
}
