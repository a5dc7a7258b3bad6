import type { Selectable } from 'kysely'
import { insertEachNew, isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import type { RoundGapsTable } from '../database/schema-checks.ts'
import type { MonitorRow } from './monitor.ts'
import { rangeIdOf, roundStart } from './round-ranges.ts'
import { countDue, lastDueAt } from './slots.ts'

/**
 * What proves that monitors were checked. A check in time leaves no trace: recorded is only what was late or missed, so a period without
 * a gap is one in which each check was made. A gap lies between two consecutive checks. That of a round is one row for all monitors that
 * were in it (`round_gaps`). It is copied to a monitor that leaves the rounds, whose other gaps are its own (`check_gaps`), so the gaps of
 * rounds since `joined_at` are those of a monitor that is in rounds. `past_schedules` says when a monitor was to be checked.
 */
export type Gap = { from_at: number; until_at: number; withheld_since: number | null }

/** A check that begins later than this after its slot is late. */
export const LATE_MS = 5_000

type Slot = { slot: number; frequency: number }

const isGap = (from: number, until: number, monitor: Slot) => {
  const due = countDue(from, until, monitor)
  return due > 1 || (due === 1 && until - lastDueAt(until, monitor) > LATE_MS)
}

/** The gap that a check ends which began at `startedAt`. `createdAt`: of a monitor that was never checked. */
export function gapBeforeCheck(
  claim: Slot & { last_checked_at: number | null; was_due_at: number; postponed_since: number | null },
  startedAt: number,
  createdAt: number | undefined,
): Gap | undefined {
  const { last_checked_at, was_due_at, postponed_since } = claim
  const from_at = last_checked_at ?? createdAt ?? was_due_at
  // After a change of the interval, the slots of the previous one count too.
  const isOverdue = last_checked_at !== null && startedAt - was_due_at > LATE_MS
  if (!isOverdue && !isGap(from_at, startedAt, claim)) return undefined
  return { from_at, until_at: startedAt, withheld_since: postponed_since }
}

type OfMonitor = { organization_id: string; monitor_id: string }

const CHECK_GAP = {
  ...({ organization_id: 'text', monitor_id: 'text', until_at: 'bigint', from_at: 'bigint' } as const),
  withheld_since: 'bigint',
} as const

/** In the transaction that records the check. */
export async function insertCheckGaps(db: Database, gaps: readonly (OfMonitor & Gap)[]): Promise<void> {
  const key = ['organization_id', 'monitor_id', 'until_at'] as const
  await insertEachNew(db, { table: 'check_gaps', columns: CHECK_GAP, key }, gaps)
}

export type RoundGap = Selectable<RoundGapsTable>
const ROUND_GAP = {
  ...({ range_id: 'text', round: 'bigint', first_slot: 'bigint', until_slot: 'bigint', started_at: 'bigint' } as const),
  ...({ delay_ms: 'bigint', last_round: 'bigint', last_started_at: 'bigint' } as const),
}

/** In the transaction that finishes the round. */
export async function insertRoundGap(
  db: Database,
  gap: Omit<RoundGap, 'range_id'> & { frequency: number },
): Promise<void> {
  const { frequency, first_slot } = gap
  const row = { ...gap, range_id: rangeIdOf({ slot: first_slot, frequency }) }
  await insertEachNew(db, { table: 'round_gaps', columns: ROUND_GAP, key: ['range_id', 'round', 'first_slot'] }, [row])
}

/** A monitor in rounds. `last_checked_at`: by its last finished round. */
export type InRounds = Slot & { joined_at: number | null; last_checked_at: number | null }

/** The gaps of the rounds of these monitors since they joined, in the order of the monitors. Those that end after `since`. */
export async function findRoundGaps(db: Database, monitors: readonly InRounds[], since = 0): Promise<Gap[][]> {
  if (monitors.length === 0) return []
  const joinedAt = monitors.reduce((first, { joined_at }) => Math.min(first, joined_at ?? 0), Number.MAX_SAFE_INTEGER)
  const rows = await db
    .selectFrom('round_gaps')
    .selectAll()
    .where(isOneOf(db, 'range_id', [...new Set(monitors.map(rangeIdOf))]))
    .where('started_at', '>', Math.max(joinedAt, since) - LONGEST_ROUND_MS)
    .orderBy('round')
    .execute()
  const byRange = Map.groupBy(rows, ({ range_id }) => range_id)
  return monitors.map((monitor) => {
    const ofRange = byRange.get(rangeIdOf(monitor)) ?? []
    return ofRange.flatMap((gap) => gapOfRound(gap, monitor) ?? [])
  })
}

/** From the start of a round until its last check begins. A longer one would be repeated. */
const LONGEST_ROUND_MS = 120_000

/** The gap of one monitor of the round. Undefined if it was not in the round, or in time. */
function gapOfRound(gap: RoundGap, monitor: InRounds): Gap | undefined {
  const { slot, frequency, joined_at, last_checked_at } = monitor
  if (slot < gap.first_slot || slot >= gap.until_slot) return undefined
  const slotAt = (round: number) => roundStart({ frequency, first_slot: slot }, round)
  const joinedAt = joined_at ?? 0
  const checkedAt = Math.max(gap.started_at, slotAt(gap.round))
  // It joined later, or left before this round was finished.
  if (slotAt(gap.round) <= joinedAt || checkedAt > (last_checked_at ?? 0)) return undefined
  const from_at = Math.max(gap.last_started_at, slotAt(gap.last_round), joinedAt)
  const until_at = checkedAt + gap.delay_ms
  return isGap(from_at, until_at, monitor) ? { from_at, until_at, withheld_since: null } : undefined
}

/** For monitors that leave the rounds, in that transaction. */
export async function copyRoundGaps(db: Database, leaving: readonly (OfMonitor & InRounds)[]): Promise<void> {
  const gaps = await findRoundGaps(db, leaving)
  await insertCheckGaps(
    db,
    leaving.flatMap(({ organization_id, monitor_id }, index) =>
      gaps[index]!.map((gap) => ({ organization_id, monitor_id, ...gap })),
    ),
  )
}

type Scheduled = Pick<MonitorRow, 'id' | 'organization_id' | 'is_active' | 'frequency'>

const PAST_SCHEDULE = {
  ...({ organization_id: 'text', monitor_id: 'text', until_at: 'bigint', frequency: 'bigint' } as const),
  last_checked_at: 'bigint',
} as const

/** Records the schedules that end now. `row`: as it was. In the transaction that changes them, after the monitors have left the rounds. */
export async function insertPastSchedules(
  db: Database,
  changed: readonly { row: Scheduled; last_checked_at: number | null }[],
  now: number,
): Promise<void> {
  const rows = changed.map(({ row: { id, organization_id, is_active, frequency }, last_checked_at }) => ({
    ...{ organization_id, monitor_id: id, until_at: now },
    ...{ frequency: is_active === 1 ? frequency : 0, last_checked_at },
  }))
  const key = ['organization_id', 'monitor_id', 'until_at'] as const
  await insertEachNew(db, { table: 'past_schedules', columns: PAST_SCHEDULE, key }, rows)
}
