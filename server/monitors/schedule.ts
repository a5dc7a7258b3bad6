import { insertEachFree, isOneOf, updateEach } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import { insertPastSchedules } from './check-gaps.ts'
import type { MonitorRow } from './monitor.ts'
import type { ParsedChange } from './parse-monitor.ts'
import { leaveRounds } from './rounds.ts'
import { nextDueAt, SLOTS } from './slots.ts'

/** `due_at`: of the first check, if that is not now. */
type NewDueCheck = Pick<
  MonitorRow,
  'id' | 'organization_id' | 'slot' | 'is_active' | 'owner' | 'record_type' | 'is_exact_match' | 'frequency'
> & { due_at?: number }

/**
 * Schedules the first checks. A monitor whose slot is taken gets the next free one, in its row too. The insert decides
 * whether a slot is free, so it is safe beside other transactions.
 */
export async function insertDueChecks(db: Database, rows: readonly NewDueCheck[], now: number): Promise<void> {
  let remaining = [...rows]
  while (remaining.length > 0) {
    // In the order of the key, so that two transactions do not wait for each other.
    remaining.sort((a, b) => a.slot - b.slot)
    const dueChecks = remaining.map((row) => ({
      ...row,
      monitor_id: row.id,
      due_at: row.is_active ? (row.due_at ?? now) : null,
    }))
    const inserted = await insertEachFree(db, { table: 'due_checks', columns: DUE_CHECK, key: 'slot' }, dueChecks)
    remaining = remaining.filter((_, index) => !inserted[index])
    for (const row of remaining) row.slot = (row.slot + 1) % SLOTS
  }
}

const DUE_CHECK = {
  slot: 'bigint',
  monitor_id: 'text',
  organization_id: 'text',
  due_at: 'bigint',
  owner: 'text',
  record_type: 'text',
  is_exact_match: 'bigint',
  frequency: 'bigint',
} as const

/** `groupId`: the group to move to. `checkAt`: when a check that the change starts is due. */
export type MonitorUpdate = { row: MonitorRow; changed: ParsedChange; groupId?: string | undefined; checkAt: number }

/**
 * Reschedules changed monitors that are locked. A check in progress loses its claim, so that its result is discarded. A new
 * frequency never delays the next check, and repeats a check in progress, which would return to the old interval.
 */
export async function rescheduleChecks(db: Database, updates: readonly MonitorUpdate[], now: number): Promise<void> {
  const affected = updates.filter(
    ({ changed }) => changed.resetsState || changed.isActiveChanged || changed.isFrequencyChanged,
  )
  const dueChecks = await lockDueChecks(db, affected, now)
  const rows = affected.map(({ row, changed, checkAt }) => {
    const { columns, resetsState, isActiveChanged, isReenabledFailing } = changed
    const { due_at, claimed_by } = dueChecks.get(row.slot)!
    const isActive = (columns.is_active ?? row.is_active) === 1
    const frequency = columns.frequency ?? row.frequency
    const startsCheck = resetsState || isActiveChanged || claimed_by !== null
    const dueAt = Math.min(startsCheck ? checkAt : (due_at ?? now), nextDueAt(now, { slot: row.slot, frequency }))
    return {
      columns: resetsState ? RESET : isReenabledFailing ? FORGET_RESULT : NO_RESET,
      slot: row.slot,
      new_due_at: isActive ? dueAt : null,
      new_claimed_by: null,
      new_frequency: frequency,
      new_owner: columns.owner ?? row.owner,
      new_record_type: columns.record_type ?? row.record_type,
      new_is_exact_match: columns.is_exact_match ?? row.is_exact_match,
      new_fingerprint: null,
      new_streak: 0,
      new_inconclusive_count: 0,
      new_planned_change_id: null,
    }
  })
  const rescheduled = affected.filter(({ changed }) => changed.isActiveChanged || changed.isFrequencyChanged)
  await insertPastSchedules(
    db,
    rescheduled.map(({ row }) => ({ row, last_checked_at: dueChecks.get(row.slot)!.last_checked_at })),
    now,
  )
  for (const [columns, same] of Map.groupBy(rows, (row) => row.columns)) {
    await updateEach(db, { table: 'due_checks', key: SLOT, set: { ...SCHEDULE, ...columns } }, same)
  }
}

const SLOT = { slot: 'bigint' } as const
const NO_RESET = {}
const FORGET_RESULT = { fingerprint: 'bigint' } as const
const SCHEDULE = { due_at: 'bigint', claimed_by: 'bigint', frequency: 'bigint' } as const
const RESET = {
  owner: 'text',
  record_type: 'text',
  is_exact_match: 'bigint',
  fingerprint: 'bigint',
  streak: 'bigint',
  inconclusive_count: 'bigint',
  planned_change_id: 'text',
} as const

type LockedDueCheck = { due_at: number | null; claimed_by: number | null; last_checked_at: number | null }

/** Moves the monitors from the rounds to the queue of rows. Call it after they are locked: checks lock in this order too. */
async function lockDueChecks(db: Database, monitors: readonly { row: MonitorRow }[], now: number) {
  if (monitors.length === 0) return new Map<number, LockedDueCheck>()
  const slots = monitors.map(({ row }) => row.slot)
  await leaveRounds(db, slots, now)
  const dueChecks = await db
    .selectFrom('due_checks')
    .select(['slot', 'due_at', 'claimed_by', 'last_checked_at'])
    .where(isOneOf(db, 'slot', slots, 'bigint'))
    .orderBy('slot')
    .modifyEnd(forUpdate(db))
    .execute()
  return new Map(dueChecks.map((dueCheck) => [dueCheck.slot, dueCheck]))
}

/**
 * Starts checks of monitors that are locked: at `checkAt`, and never later than they were due. Skips disabled monitors and
 * checks in progress.
 */
export async function scheduleChecks(
  db: Database,
  monitors: readonly { row: MonitorRow; checkAt: number }[],
  now: number,
): Promise<void> {
  const dueChecks = await lockDueChecks(db, monitors, now)
  const rows = monitors.flatMap(({ row, checkAt }) => {
    const { due_at, claimed_by } = dueChecks.get(row.slot)!
    if (due_at === null || claimed_by !== null || due_at <= checkAt) return []
    return [{ slot: row.slot, new_due_at: checkAt }]
  })
  await updateEach(db, { table: 'due_checks', key: SLOT, set: { due_at: 'bigint' } }, rows)
}

/** `changeId`: null removes it. `checkAt`: null if no check has to come earlier. */
export type PlanSchedule = { row: MonitorRow; changeId: string | null; checkAt: number | null }

/**
 * Sets the planned changes of monitors that are locked. A check in progress loses its claim and is repeated. Without a change, the next
 * check evaluates the answer again.
 */
export async function schedulePlannedChanges(db: Database, plans: readonly PlanSchedule[], now: number): Promise<void> {
  const dueChecks = await lockDueChecks(db, plans, now)
  const rows = plans.map(({ row, changeId, checkAt }) => {
    const { due_at, claimed_by } = dueChecks.get(row.slot)!
    const startsAt = claimed_by === null ? checkAt : (checkAt ?? now)
    return {
      columns: changeId === null ? FORGET_RESULT : NO_RESET,
      slot: row.slot,
      new_due_at: due_at === null || startsAt === null ? due_at : Math.min(due_at, startsAt),
      new_claimed_by: null,
      new_planned_change_id: changeId,
      new_fingerprint: null,
    }
  })
  const set = { due_at: 'bigint', claimed_by: 'bigint', planned_change_id: 'text' } as const
  for (const [columns, same] of Map.groupBy(rows, (row) => row.columns)) {
    await updateEach(db, { table: 'due_checks', key: SLOT, set: { ...set, ...columns } }, same)
  }
}
