import { expect, test } from 'vitest'
import type { Database } from '../database/database.ts'
import { LEASE_MS, repairAfterClockStep } from '../queue/lease-queue.ts'
import { onBothEngines } from '../testing/database.ts'
import { CLOCK_STEP_REPAIR } from './record-checks.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const NOW = Date.UTC(2026, 10, 21, 9, 30)

onBothEngines('what is planned too far ahead', (fresh) => {
  test('comes back by whole intervals, and what is planned well stays', async () => {
    const db = await fresh()
    await insert(db, [
      { id: 'day', due_at: NOW + DAY_MS + 7_000 },
      { id: 'hour', due_at: NOW + DAY_MS + 7_000, frequency: 60 },
      { id: 'soon', due_at: NOW + 4 * MINUTE_MS },
      { id: 'slow', due_at: NOW + 50 * MINUTE_MS, frequency: 60 },
      { id: 'overdue', due_at: NOW - DAY_MS },
      { id: 'off', due_at: null },
    ])
    await repairAfterClockStep(db, 'due_checks', { now: NOW, process: 1 }, CLOCK_STEP_REPAIR)
    expect(await dueOf(db)).toEqual({
      day: NOW + 7_000,
      hour: NOW + 7_000,
      soon: NOW + 4 * MINUTE_MS,
      slow: NOW + 50 * MINUTE_MS,
      overdue: NOW - DAY_MS,
      off: null,
    })
  })

  test('is taken from another process and from a dead one, not from our own', async () => {
    const db = await fresh()
    const leased = NOW + DAY_MS + LEASE_MS
    await insert(db, [
      { id: 'own', due_at: leased, claimed_by: 1 },
      { id: 'other', due_at: leased, claimed_by: 2 },
      { id: 'leased', due_at: NOW + LEASE_MS, claimed_by: 2 },
    ])
    await repairAfterClockStep(db, 'due_checks', { now: NOW, process: 1 }, CLOCK_STEP_REPAIR)
    expect(await dueOf(db)).toEqual({ own: leased, other: NOW + LEASE_MS, leased: NOW + LEASE_MS })
  })

  test('comes back whole, spread over its interval, however much it is', async () => {
    const db = await fresh()
    const many = Array.from({ length: 1_700 }, (_, at) => ({ id: `m${at}`, due_at: NOW + DAY_MS + at * 170 }))
    await insert(db, many)
    await repairAfterClockStep(db, 'due_checks', { now: NOW, process: 1 }, CLOCK_STEP_REPAIR)
    expect(Object.values(await dueOf(db)).sort()).toEqual(many.map(({ due_at }) => due_at - DAY_MS).sort())
  })
})

type Row = { id: string; due_at: number | null; frequency?: number; claimed_by?: number }

async function insert(db: Database, rows: Row[]): Promise<void> {
  const values = rows.map(({ id, due_at, frequency = 5, claimed_by = null }, slot) => ({
    slot,
    monitor_id: id,
    organization_id: 'org_1',
    due_at,
    claimed_by,
    owner: 'www.example.com',
    record_type: 'A',
    is_exact_match: 1 as const,
    frequency,
    fingerprint: null,
    last_checked_at: null,
    streak: 0,
    inconclusive_count: 0,
  }))
  for (let at = 0; at < values.length; at += 500)
    await db
      .insertInto('due_checks')
      .values(values.slice(at, at + 500))
      .execute()
}

async function dueOf(db: Database): Promise<Record<string, number | null>> {
  const rows = await db.selectFrom('due_checks').select(['monitor_id', 'due_at']).execute()
  return Object.fromEntries(rows.map(({ monitor_id, due_at }) => [monitor_id, due_at]))
}
