import { recordAudit } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { deleteEach, insertAtOnce, isOneOf } from '../database/bulk.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { type Match, refuseStale } from '../database/versions.ts'
import { findIdsByExternalId, insertLabels, MONITOR_LABELS } from '../groups/labels.ts'
import { getGroupSlug } from '../groups/resolve.ts'
import { adjustMonitorCounts } from '../groups/store.ts'
import { yieldToEventLoop } from '../yield.ts'
import { leaveIncidents } from './left-incidents.ts'
import { auditOf, type MonitorRow, monitorLabel } from './monitor.ts'
import { nextDueAt, slotOf } from './schedule.ts'
import { deleteEmptyPages, pageIdsOf } from './setup-pages.ts'
import { countsOf, insertDueChecks, lockMonitor, MONITOR } from './store.ts'

/** Events deleted in one transaction: with their evidence they are wide rows. */
const SLICE = 200

/**
 * Its events go with it; webhook requests already made are still delivered. A long history goes slice by slice before the
 * monitor does, so that nobody waits; anyone who is interrupted finds the monitor there and deletes it again. Throws `not_found` and 412.
 */
export async function deleteMonitor(db: Database, context: RequestContext, id: string, match?: Match): Promise<void> {
  const { organizationId } = context
  if (await hasLongHistory(db, organizationId, id)) {
    await stopChecks(db, context, id, match)
    while ((await deleteEvents(db, organizationId, id)) === SLICE) await yieldToEventLoop()
  }
  await inTransaction(db, async (transaction) => {
    const monitor = await lockMonitor(transaction, context, id)
    refuseStale(monitor, match)
    const pages = await pageIdsOf(transaction, context, [id])
    const deleted = await transaction
      .deleteFrom('monitors')
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .returning(['group_id', 'slot'])
      .executeTakeFirstOrThrow()
    await transaction.deleteFrom('due_checks').where('slot', '=', deleted.slot).execute()
    await deleteEmptyPages(transaction, context, pages)
    await leaveIncidents(transaction, organizationId, [id], context.now)
    await adjustMonitorCounts(transaction, context, [[deleted.group_id, -1]])
    const before = auditOf(monitor, await getGroupSlug(transaction, context, deleted.group_id))
    await recordAudit(transaction, context, {
      action: 'monitor.deleted',
      object: { id, label: monitorLabel(monitor) },
      before,
    })
  })
}

async function hasLongHistory(db: Database, organizationId: string, monitorId: string): Promise<boolean> {
  const next = await someEvents(db, organizationId, monitorId).offset(SLICE).limit(1).executeTakeFirst()
  return next !== undefined
}

/** So that no check makes a further event meanwhile, and nobody is alerted if the deletion is interrupted. */
async function stopChecks(
  db: Database,
  { organizationId, now }: RequestContext,
  id: string,
  match: Match,
): Promise<void> {
  await inTransaction(db, async (transaction) => {
    const monitor = await lockMonitor(transaction, { organizationId }, id)
    refuseStale(monitor, match)
    await transaction
      .updateTable('monitors')
      .set({ is_active: 0 })
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .execute()
    await transaction
      .updateTable('due_checks')
      .set({ due_at: null, claimed_by: null })
      .where('slot', '=', monitor.slot)
      .execute()
    await leaveIncidents(transaction, organizationId, [id], now)
  })
}

async function deleteEvents(db: Database, organizationId: string, monitorId: string): Promise<number> {
  const some = someEvents(db, organizationId, monitorId).limit(SLICE)
  const { numDeletedRows } = await db.deleteFrom('events').where('id', 'in', some).executeTakeFirst()
  return Number(numDeletedRows)
}

function someEvents(db: Database, organizationId: string, monitorId: string) {
  return db
    .selectFrom('events')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('monitor_id', '=', monitorId)
    .orderBy('occurred_at')
    .orderBy('id')
}

/** Events deleted in one transaction: with their evidence they are wide rows. */
const MOST_EVENTS = 1_000

/**
 * How many of the first rows, which are in the order of their ids, can be deleted in one transaction with their events. Where the first
 * alone has too many, some of its events are deleted, and the answer is 0.
 */
export async function countDeletable(db: Database, { organizationId }: Tenant, rows: readonly MonitorRow[]) {
  const ids = rows.map(({ id }) => id)
  const events = await db
    .selectFrom('events')
    .select(['id', 'monitor_id'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'monitor_id', ids))
    .orderBy('monitor_id')
    .limit(MOST_EVENTS + 1)
    .execute()
  if (events.length <= MOST_EVENTS) return rows.length
  const last = events.at(-1)!.monitor_id
  const deletable = ids.indexOf(last)
  if (deletable === 0) {
    const some = events.map(({ id }) => id)
    await db
      .deleteFrom('events')
      .where('organization_id', '=', organizationId)
      .where(isOneOf(db, 'id', some))
      .execute()
  }
  return deletable
}

/** Deletes monitors that are locked. Their events go with them; webhook requests already made are still delivered. */
export async function deleteMonitors(
  db: Database,
  tenant: Tenant,
  rows: readonly MonitorRow[],
  now: number,
): Promise<void> {
  const { organizationId } = tenant
  const ids = rows.map(({ id }) => id)
  const pages = await pageIdsOf(db, tenant, ids)
  // One statement, for the reason of `updateAtOnce`.
  await db
    .deleteFrom('monitors')
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'id', ids))
    .execute()
  await deleteEach(db, { table: 'due_checks', key: { slot: 'bigint' } }, rows)
  await deleteEmptyPages(db, tenant, pages)
  await leaveIncidents(db, organizationId, ids, now)
  await adjustMonitorCounts(db, tenant, countsOf(rows, -1))
}

/** What restores a deleted monitor: all but its events and the evidence of its last check. */
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
 * Makes deleted monitors again, with their ids and the state that they were in, so that what has not changed since is reported to
 * nobody. Under the lock of the organization, for the external ids. `checkAt`: of the first check.
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
    // Another monitor may have its external id by now.
    const external_id = snapshot.external_id !== null && taken.has(snapshot.external_id) ? null : snapshot.external_id
    return {
      ...snapshot,
      external_id,
      organization_id,
      slot,
      due_at: Math.min(checkAt, nextDueAt(now, { slot, ...snapshot })),
    }
  })
  await insertDueChecks(db, rows, now)
  await insertAtOnce(db, 'monitors', RESTORED, rows)
  await insertLabels(db, MONITOR_LABELS, rows)
  await adjustMonitorCounts(db, tenant, countsOf(rows, 1))
}

const RESTORED = { ...MONITOR, current_values: 'text', incidence_count: 'bigint', version: 'bigint' } as const
