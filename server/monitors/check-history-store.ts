import { sql } from 'kysely'
import { fieldError } from '#contract/field-errors.ts'
import type { Clock } from '../clock.ts'
import type { Tenant } from '../context.ts'
import { deleteBatch, deleteInBatches, forEachOrganization } from '../database/batches.ts'
import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { invalid, notFound } from '../problem.ts'
import { DAY_MS } from '../times.ts'
import { yieldToEventLoop } from '../yield.ts'
import { findRoundGaps, type Gap } from './check-gaps.ts'
import { type CheckCounts, type CheckHistory, type CountedGap, checkHistory, type Monitored } from './check-history.ts'
import { lastCheckedAt } from './last-round.ts'

/** Gaps that ended longer ago are deleted. */
export const CHECK_HISTORY_MS = 400 * DAY_MS
/** Gaps of a response. All are counted. */
const MAX_GAPS = 100
/** Monitors of an organization that are read together, at most. With more than `BATCH_GAPS` gaps, they are fewer. */
const BATCH_SIZE = 200
const BATCH_GAPS = 1_000
/** Gaps of an organization that are counted, at most: three to five seconds of CPU time. */
export const MAX_COUNTED_GAPS = 1_000_000

export type Period = { since: number; until: number }
/** `longest`: undefined if each check was in time. `period`: the part of the requested one in which the monitor existed and gaps were recorded. */
export type MonitorHistory = CheckCounts & {
  period: Period
  gaps: (CountedGap & { monitorId: string })[]
  gapCount: number
  longest: (CountedGap & { monitorId: string }) | undefined
}

/** Throws `not_found`, also for a monitor of another organization. */
export async function getMonitorHistory(
  db: Database,
  tenant: Tenant,
  id: string,
  period: Period,
  now: number,
): Promise<MonitorHistory & { lastCheckedAt: number | null }> {
  const recorded = await recordedPart(db, period, now)
  const row = await selectChecked(db, tenant).where('monitors.id', '=', id).executeTakeFirst()
  if (!row) throw notFound()
  const history = newHistory({ ...recorded, since: Math.max(recorded.since, row.created_at) })
  const [own] = await readHistories(db, tenant, [row], history.period, now)
  add(history, id, own!, now)
  return { ...history, lastCheckedAt: row.last_checked_at }
}

/**
 * Reads all monitors of the organization, in short batches. Ends early, with a part, at `stop`. Throws a 400 if there are more than
 * `maxGaps`.
 */
export async function getOrganizationHistory(
  db: Database,
  tenant: Tenant,
  period: Period,
  now: number,
  { stop, maxGaps = MAX_COUNTED_GAPS }: { stop: AbortSignal; maxGaps?: number },
): Promise<MonitorHistory & { monitors: number }> {
  const history = newHistory(await recordedPart(db, period, now))
  let monitors = 0
  let after = ''
  for (let size = 1; !stop.aborted; await yieldToEventLoop()) {
    const rows = await selectChecked(db, tenant)
      .where('monitors.id', '>', after)
      .orderBy('monitors.id')
      .limit(size)
      .execute()
    const histories = await readHistories(db, tenant, rows, history.period, now)
    const before = history.gapCount
    for (const [index, { id }] of rows.entries()) add(history, id, histories[index]!, now)
    monitors += rows.length
    if (history.gapCount > maxGaps) throw invalid({ since: fieldError('too_many_gaps', { max: maxGaps }) })
    if (rows.length < size) break
    after = rows.at(-1)!.id
    size = nextBatchSize(size, history.gapCount - before)
  }
  return { ...history, monitors }
}

/** Begins with few monitors, because each may have thousands of gaps. */
const nextBatchSize = (size: number, gaps: number) =>
  Math.max(1, Math.min(2 * size, BATCH_SIZE, Math.floor((BATCH_GAPS * size) / Math.max(1, gaps))))

/** The part since which gaps are recorded and kept, until now. */
async function recordedPart(db: Database, { since, until }: Period, now: number): Promise<Period> {
  const { rows } = await sql<{ applied_at: number }>`select applied_at from migrations
    where name = 'check gaps'`.execute(db)
  const first = Math.max(since, rows[0]!.applied_at, now - CHECK_HISTORY_MS)
  return { since: first, until: Math.min(until, now) }
}

export const selectChecked = (db: Database, { organizationId }: Tenant) =>
  db
    .selectFrom('monitors')
    .innerJoin('due_checks', (join) =>
      join
        .onRef('due_checks.slot', '=', 'monitors.slot')
        .onRef('due_checks.organization_id', '=', 'monitors.organization_id'),
    )
    .select(['monitors.id', 'monitors.slot', 'monitors.frequency', 'monitors.is_active', 'monitors.created_at'])
    .select(['due_checks.since_round', 'due_checks.joined_at', 'due_checks.postponed_since'])
    .select(lastCheckedAt.as('last_checked_at'))
    .where('monitors.organization_id', '=', organizationId)

/** A monitor, and what its checks are computed from. */
export type CheckedRow = Awaited<ReturnType<ReturnType<typeof selectChecked>['execute']>>[number]

async function readHistories(
  db: Database,
  tenant: Tenant,
  rows: readonly CheckedRow[],
  period: Period,
  now: number,
): Promise<CheckHistory[]> {
  const read = await readGaps(db, tenant, rows, period)
  return read.map(({ monitored, gaps }) => checkHistory(monitored, gaps, period, now))
}

/** The schedules and the recorded gaps of these monitors, in their order. Gaps that ended before the period are left out. */
export async function readGaps(
  db: Database,
  { organizationId }: Tenant,
  rows: readonly CheckedRow[],
  period: Period,
): Promise<{ monitored: Monitored; gaps: Gap[] }[]> {
  const ids = rows.map(({ id }) => id)
  const past = await db
    .selectFrom('past_schedules')
    .select(['monitor_id', 'until_at', 'frequency', 'last_checked_at'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'monitor_id', ids))
    .orderBy('until_at')
    .execute()
  const own = await db
    .selectFrom('check_gaps')
    .select(['monitor_id', 'from_at', 'until_at', 'withheld_since'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'monitor_id', ids))
    .where('until_at', '>', period.since)
    .execute()
  const inRounds = rows.filter(({ since_round }) => since_round !== null)
  const ofRounds = await findRoundGaps(db, inRounds, period.since)
  const gapsOfRounds = new Map(inRounds.map(({ id }, index) => [id, ofRounds[index]!]))
  const pastOf = Map.groupBy(past, ({ monitor_id }) => monitor_id)
  const ownOf = Map.groupBy(own, ({ monitor_id }) => monitor_id)
  return rows.map((row) => {
    const monitored = {
      ...{ slot: row.slot, frequency: row.is_active === 1 ? row.frequency : 0, createdAt: row.created_at },
      ...{ lastCheckedAt: row.last_checked_at, postponedSince: row.postponed_since, past: pastOf.get(row.id) ?? [] },
    }
    const gaps = [...(ownOf.get(row.id) ?? []), ...(gapsOfRounds.get(row.id) ?? [])]
    return { monitored, gaps }
  })
}

const newHistory = ({ since, until }: Period): MonitorHistory => ({
  // A period before the monitor existed is empty.
  ...{ period: { since: Math.min(since, until), until }, due: 0, done: 0, late: 0, missed: 0, withheld: 0 },
  ...{ gaps: [], gapCount: 0, longest: undefined },
})

/** Keeps the newest gaps. */
function add(history: MonitorHistory, monitorId: string, { gaps, ...counts }: CheckHistory, now: number): void {
  for (const name of ['due', 'done', 'late', 'missed', 'withheld'] as const) history[name] += counts[name]
  if (gaps.length === 0) return
  const found = gaps.map((gap) => ({ ...gap, monitorId }))
  history.gapCount += found.length
  const longest = [history.longest ?? [], ...found].flat().sort((a, b) => lengthOf(b, now) - lengthOf(a, now))
  history.longest = longest[0]
  history.gaps = [...history.gaps, ...found].sort((a, b) => b.from - a.from).slice(0, MAX_GAPS)
}

/** In milliseconds. */
export const lengthOf = ({ from, until }: CountedGap, now: number): number => (until ?? now) - from

/** Deletes old gaps, schedules and days of all organizations, in small batches, until `stop`. */
export async function deleteOldGaps({ db, clock }: { db: Database; clock: Clock }, stop: AbortSignal): Promise<void> {
  const before = clock.now() - CHECK_HISTORY_MS
  const rounds = db.selectFrom('round_gaps').where('started_at', '<', before).orderBy('started_at')
  await deleteInBatches(clock, stop, () => deleteBatch(db, 'round_gaps', ['range_id', 'round', 'first_slot'], rounds))
  await forEachOrganization(db, stop, async (organizationId) => {
    for (const table of ['check_gaps', 'past_schedules'] as const) {
      const old = db
        .selectFrom(table)
        .where('organization_id', '=', organizationId)
        .where('until_at', '<', before)
        .orderBy('until_at')
      await deleteInBatches(clock, stop, () =>
        deleteBatch(db, table, ['organization_id', 'monitor_id', 'until_at'], old),
      )
    }
    const days = db
      .selectFrom('state_days')
      .where('organization_id', '=', organizationId)
      .where('day', '<', before - DAY_MS)
      .orderBy('day')
    await deleteInBatches(clock, stop, () =>
      deleteBatch(db, 'state_days', ['organization_id', 'monitor_id', 'day'], days),
    )
  })
}
