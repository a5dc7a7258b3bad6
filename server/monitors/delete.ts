import { recordAudit } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { deleteEach, insertAtOnce, isOneOf } from '../database/bulk.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { getTenantRow, updateTenantRow } from '../database/tenant-row.ts'
import { type Match, refuseStale } from '../database/versions.ts'
import { findIdsByExternalId, insertLabels, MONITOR_LABELS } from '../groups/labels.ts'
import { adjustMonitorCounts } from '../groups/resolve.ts'
import { deleteEmptyPages, pageIdsOf } from '../waits/setup-pages.ts'
import { yieldToEventLoop } from '../yield.ts'
import { insertPastSchedules } from './check-gaps.ts'
import { leaveIncidents } from './incident-membership.ts'
import { auditOf, COLUMN_TYPES, type MonitorRow, monitorLabel } from './monitor.ts'
import { leaveRounds } from './rounds.ts'
import { insertDueChecks } from './schedule.ts'
import { nextDueAt, slotOf } from './slots.ts'
import { forgetStates } from './state-days.ts'
import { lockMonitor } from './store.ts'

/** Events deleted in one transaction: their evidence makes them large. */
const EVENT_BATCH_SIZE = 200

/**
 * Deletes the monitor and its events; existing webhook requests are still delivered. Deletes a long history in batches first,
 * so that no other request waits. If it is interrupted, the monitor still exists, disabled. Throws `not_found` and 412.
 */
export async function deleteMonitor(db: Database, context: RequestContext, id: string, match?: Match): Promise<void> {
  const { organizationId, now } = context
  if (await hasLongHistory(db, organizationId, id)) {
    await stopChecks(db, context, id, match)
    while ((await deleteEventBatch(db, organizationId, id)) === EVENT_BATCH_SIZE) await yieldToEventLoop()
  }
  await inTransaction(db, async (transaction) => {
    const row = await lockMonitor(transaction, context, id)
    refuseStale(row, match)
    await deleteMonitors(transaction, context, [row], now)
    const group = await getTenantRow(transaction, 'groups', context, row.group_id)
    const object = { id, label: monitorLabel(row) }
    await recordAudit(transaction, context, { action: 'monitor.deleted', object, before: auditOf(row, group.slug) })
  })
}

async function hasLongHistory(db: Database, organizationId: string, monitorId: string): Promise<boolean> {
  const next = await oldestEvents(db, organizationId, monitorId).offset(EVENT_BATCH_SIZE).limit(1).executeTakeFirst()
  return next !== undefined
}

/** No check adds an event during the deletion, and no alert is sent if it is interrupted. */
async function stopChecks(db: Database, context: RequestContext, id: string, match: Match): Promise<void> {
  await inTransaction(db, async (transaction) => {
    const row = await lockMonitor(transaction, context, id)
    refuseStale(row, match)
    await updateTenantRow(transaction, 'monitors', context, id, { is_active: 0 })
    await leaveRounds(transaction, [row.slot], context.now)
    const { last_checked_at } = await transaction
      .updateTable('due_checks')
      .set({ due_at: null, claimed_by: null })
      .where('slot', '=', row.slot)
      .returning('last_checked_at')
      .executeTakeFirstOrThrow()
    if (row.is_active === 1) await insertPastSchedules(transaction, [{ row, last_checked_at }], context.now)
    await leaveIncidents(transaction, context.organizationId, [id], context.now)
  })
}

async function deleteEventBatch(db: Database, organizationId: string, monitorId: string): Promise<number> {
  const batch = oldestEvents(db, organizationId, monitorId).limit(EVENT_BATCH_SIZE)
  const { numDeletedRows } = await db.deleteFrom('events').where('id', 'in', batch).executeTakeFirst()
  return Number(numDeletedRows)
}

function oldestEvents(db: Database, organizationId: string, monitorId: string) {
  return db
    .selectFrom('events')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('monitor_id', '=', monitorId)
    .orderBy('occurred_at')
    .orderBy('id')
}

/** Deletes monitors that are locked, with their events. Existing webhook requests are still delivered. */
export async function deleteMonitors(
  db: Database,
  tenant: Tenant,
  rows: readonly MonitorRow[],
  now: number,
): Promise<void> {
  const { organizationId } = tenant
  const ids = rows.map(({ id }) => id)
  const pages = await pageIdsOf(db, tenant, ids)
  // One statement, for the reason of `insertAtOnce`.
  await db
    .deleteFrom('monitors')
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'id', ids))
    .execute()
  await deleteEach(db, { table: 'due_checks', key: { slot: 'bigint' } }, rows)
  await deleteEmptyPages(db, tenant, pages)
  await leaveIncidents(db, organizationId, ids, now)
  await adjustMonitorCounts(
    db,
    tenant,
    rows.map(({ group_id }) => [group_id, -1]),
  )
}

/** Events that one transaction deletes with several monitors. */
const MAX_EVENTS = 1_000

/**
 * How many of the first rows, in the order of their ids, one transaction can delete with their events. If the first monitor alone
 * has too many events, deletes some of them and returns 0.
 */
export async function countDeletable(db: Database, { organizationId }: Tenant, rows: readonly MonitorRow[]) {
  const ids = rows.map(({ id }) => id)
  const events = await db
    .selectFrom('events')
    .select(['id', 'monitor_id'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'monitor_id', ids))
    .orderBy('monitor_id')
    .limit(MAX_EVENTS + 1)
    .execute()
  if (events.length <= MAX_EVENTS) return rows.length
  const deletable = ids.indexOf(events.at(-1)!.monitor_id)
  if (deletable === 0) {
    const eventIds = events.map(({ id }) => id)
    await db
      .deleteFrom('events')
      .where('organization_id', '=', organizationId)
      .where(isOneOf(db, 'id', eventIds))
      .execute()
  }
  return deletable
}

/** What restores a deleted monitor: all columns except the evidence of its last check. Its events are not restored. */
export type MonitorSnapshot = Omit<MonitorRow, 'organization_id' | 'slot' | 'diagnosis' | 'rotation' | 'name_order'>

export function snapshotOf({
  organization_id,
  slot,
  diagnosis,
  rotation,
  name_order,
  ...snapshot
}: MonitorRow): MonitorSnapshot {
  return snapshot
}

/**
 * Restores deleted monitors with their ids and states, so that an unchanged record causes no event. Call it with the organization
 * locked, for the external ids. `checkAt`: when the first check is due.
 */
export async function restoreMonitors(
  db: Database,
  tenant: Tenant,
  restored: readonly { snapshot: MonitorSnapshot; checkAt: number }[],
  now: number,
): Promise<void> {
  const { organizationId: organization_id } = tenant
  const externalIds = restored.flatMap(({ snapshot }) => snapshot.external_id ?? [])
  const taken = await findIdsByExternalId(db, tenant, 'monitors', externalIds)
  const rows = restored.map(({ snapshot, checkAt }) => {
    const slot = slotOf(snapshot.id)
    // Another monitor may have the external id now.
    const external_id = snapshot.external_id !== null && taken.has(snapshot.external_id) ? null : snapshot.external_id
    const due_at = Math.min(checkAt, nextDueAt(now, { slot, frequency: snapshot.frequency }))
    // Snapshots of the version before have no resolution.
    return { ...snapshot, resolution: snapshot.resolution ?? 'auto', external_id, organization_id, slot, due_at }
  })
  await insertDueChecks(db, rows, now)
  await insertAtOnce(db, 'monitors', RESTORED_MONITOR, rows)
  // Its history was deleted with it.
  const unknown = rows.map((row) => ({ row: { ...row, is_active: 0 as const }, last_checked_at: null }))
  await insertPastSchedules(db, unknown, now)
  await forgetStates(db, rows, now)
  await insertLabels(db, MONITOR_LABELS, rows)
  await adjustMonitorCounts(
    db,
    tenant,
    rows.map(({ group_id }) => [group_id, 1]),
  )
}

const RESTORED_MONITOR = {
  ...COLUMN_TYPES,
  current_values: 'text',
  incidence_count: 'bigint',
  version: 'bigint',
} as const
