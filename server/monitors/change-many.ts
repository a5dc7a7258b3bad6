import type { Tenant } from '../context.ts'
import { type Columns, isOneOf, updateAtOnce, updateEach } from '../database/bulk.ts'
import { type Database, forUpdate } from '../database/database.ts'
import { MONITOR_LABELS, replaceLabels } from '../groups/labels.ts'
import { adjustMonitorCounts } from '../groups/store.ts'
import { leaveIncidents } from './left-incidents.ts'
import type { MonitorRow } from './monitor.ts'
import type { ParsedChange } from './parse-change.ts'
import { cancelPlannedChanges } from './planned-change.ts'
import { nextDueAt } from './schedule.ts'
import { restartWaits } from './waits.ts'

/** `groupId`: where it moves to, if it does. `checkAt`: when a check that the change starts is due. */
export type MonitorUpdate = { row: MonitorRow; changed: ParsedChange; groupId?: string | undefined; checkAt: number }

/** The rows of those that there are, locked until the transaction ends, in the order of their ids. */
export async function lockMonitors(
  db: Database,
  { organizationId }: Tenant,
  ids: readonly string[],
): Promise<MonitorRow[]> {
  return await db
    .selectFrom('monitors')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'id', ids))
    .orderBy('id')
    .modifyEnd(forUpdate(db))
    .execute()
}

/** Writes what was decided for monitors that are locked, as `updateMonitor` does for one. */
export async function updateMonitors(
  db: Database,
  tenant: Tenant,
  changes: readonly MonitorUpdate[],
  now: number,
): Promise<void> {
  const { organizationId } = tenant
  const written = changes.map(({ row, changed, groupId }) => {
    const columns: Record<string, unknown> = { ...changed.columns, ...(groupId && { group_id: groupId }) }
    return { row, columns, names: Object.keys(columns).sort() }
  })
  // Every column that is written costs its index, so each row has only those that differ.
  for (const same of Map.groupBy(written, ({ names }) => names.join()).values()) {
    const { names } = same[0]!
    const set = Object.fromEntries(names.map((name) => [name, TYPES[name] ?? 'text']))
    const rows = same.map(({ row, columns }) => ({
      id: row.id,
      organization_id: organizationId,
      new_version: 1,
      ...Object.fromEntries(names.map((name) => [`new_${name}`, columns[name]])),
    }))
    await updateAtOnce(db, { table: 'monitors', key: ID, set, add: { version: 'bigint' } }, rows)
  }
  const relabelled = changes.filter(({ changed: { columns } }) => 'tags' in columns || 'metadata' in columns)
  await replaceLabels(
    db,
    MONITOR_LABELS,
    relabelled.map(({ row, changed }) => ({ ...row, ...changed.columns }) as MonitorRow),
  )
  await changePlaces(db, changes, now)
  const left = changes.filter(({ changed }) => changed.resetsState || changed.columns.is_active === 0)
  await leaveIncidents(
    db,
    organizationId,
    left.map(({ row }) => row.id),
    now,
  )
  const asked = changes.filter(({ changed }) => changed.resetsState).map(({ row }) => row.id)
  await restartWaits(db, organizationId, asked, now)
  await cancelPlannedChanges(db, tenant, asked, now)
  const counts = new Map<string, number>()
  const count = (id: string, difference: number) => counts.set(id, (counts.get(id) ?? 0) + difference)
  for (const { row, groupId } of changes) {
    if (groupId === undefined) continue
    count(row.group_id, -1)
    count(groupId, 1)
  }
  await adjustMonitorCounts(db, tenant, counts)
}

const ID = { id: 'text', organization_id: 'text' } as const
/** Of the columns that a change can have; the others are texts. */
const TYPES: Columns = { is_exact_match: 'bigint', is_active: 'bigint', frequency: 'bigint' }

/** Checks that are in progress lose their claims, so that what they find is discarded. */
async function changePlaces(db: Database, changes: readonly MonitorUpdate[], now: number): Promise<void> {
  const moved = changes.filter(
    ({ changed }) => changed.resetsState || changed.isActiveChanged || changed.isFrequencyChanged,
  )
  const places = await lockPlaces(db, moved)
  const rows = moved.map(({ row, changed, checkAt }) => {
    const { columns, resetsState, isActiveChanged, isReenabledFailing } = changed
    const place = places.get(row.slot)!
    const isActive = (columns.is_active ?? row.is_active) === 1
    const frequency = columns.frequency ?? row.frequency
    const next = nextDueAt(now, { slot: row.slot, frequency })
    const atOnce = resetsState || isActiveChanged || place.claimed_by !== null
    const due = atOnce ? Math.min(checkAt, next) : Math.min(place.due_at ?? now, next)
    return {
      restarted: resetsState ? QUESTION : isReenabledFailing ? RETURN : NOTHING,
      slot: row.slot,
      new_due_at: isActive ? due : null,
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
  for (const [restarted, same] of Map.groupBy(rows, (row) => row.restarted)) {
    await updateEach(db, { table: 'due_checks', key: PLACE, set: { ...PLANNED, ...restarted } }, same)
  }
}

const PLACE = { slot: 'bigint' } as const
const PLANNED: Columns = { due_at: 'bigint', claimed_by: 'bigint', frequency: 'bigint' }
const NOTHING: Columns = {}
const RETURN: Columns = { fingerprint: 'bigint' }
const QUESTION: Columns = {
  owner: 'text',
  record_type: 'text',
  is_exact_match: 'bigint',
  fingerprint: 'bigint',
  streak: 'bigint',
  inconclusive_count: 'bigint',
  planned_change_id: 'text',
}

/** After the monitors themselves, as checks lock them. */
async function lockPlaces(db: Database, rows: readonly { row: MonitorRow }[]) {
  if (rows.length === 0) return new Map<number, { due_at: number | null; claimed_by: number | null }>()
  const slots = rows.map(({ row }) => row.slot)
  const places = await db
    .selectFrom('due_checks')
    .select(['slot', 'due_at', 'claimed_by'])
    .where(isOneOf(db, 'slot', slots, 'bigint'))
    .orderBy('slot')
    .modifyEnd(forUpdate(db))
    .execute()
  return new Map(places.map((place) => [place.slot, place]))
}

/**
 * Starts checks of monitors that are locked: each when `checkAt` says, and never later than it was due. One that is in progress is
 * enough. Disabled monitors stay so.
 */
export async function scheduleChecks(
  db: Database,
  monitors: readonly { row: MonitorRow; checkAt: number }[],
): Promise<void> {
  const places = await lockPlaces(db, monitors)
  const rows = monitors.flatMap(({ row, checkAt }) => {
    const { due_at, claimed_by } = places.get(row.slot)!
    if (due_at === null || claimed_by !== null || due_at <= checkAt) return []
    return [{ slot: row.slot, new_due_at: checkAt }]
  })
  await updateEach(db, { table: 'due_checks', key: PLACE, set: { due_at: 'bigint' } }, rows)
}
