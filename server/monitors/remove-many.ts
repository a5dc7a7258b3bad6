import type { Tenant } from '../context.ts'
import { deleteEach, insertEach, isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { insertLabels, MONITOR_LABELS, takenExternalIds } from '../groups/labels.ts'
import { countMonitors } from '../groups/store.ts'
import { leaveIncidents } from './left-incidents.ts'
import type { MonitorRow } from './monitor.ts'
import { nextDueAt, slotOf } from './schedule.ts'
import { deleteEmptyPages, pageIdsOf } from './setup-pages.ts'
import { countsOf, insertDueChecks, MONITOR } from './store.ts'

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
  const key = { id: 'text', organization_id: 'text' } as const
  const pages = await pageIdsOf(
    db,
    tenant,
    rows.map(({ id }) => id),
  )
  await deleteEach(db, { table: 'monitors', key }, rows)
  await deleteEach(db, { table: 'due_checks', key: { slot: 'bigint' } }, rows)
  await deleteEmptyPages(db, tenant, pages)
  await leaveIncidents(
    db,
    tenant.organizationId,
    rows.map(({ id }) => id),
    now,
  )
  await countMonitors(db, tenant, countsOf(rows, -1))
}

/** What restores a deleted monitor: all but its events and the evidence of its last check. */
export type MonitorSnapshot = Omit<MonitorRow, 'organization_id' | 'slot' | 'diagnosis' | 'rotation' | 'name_order'>

export function snapshotOf({
  organization_id,
  slot,
  diagnosis,
  rotation,
  name_order,
  ...kept
}: MonitorRow): MonitorSnapshot {
  return kept
}

/**
 * Makes deleted monitors again, with their ids and the state that they were in, so that what has not changed since is reported to
 * nobody. Under the lock of the organization, for the external ids. `checkAt`: of the first check.
 */
export async function restoreMonitors(
  db: Database,
  tenant: Tenant,
  restored: readonly { kept: MonitorSnapshot; checkAt: number }[],
  now: number,
): Promise<void> {
  const { organizationId: organization_id } = tenant
  const externalIds = restored.flatMap(({ kept }) => kept.external_id ?? [])
  const taken = await takenExternalIds(db, tenant, 'monitors', externalIds)
  const rows = restored.map(({ kept, checkAt }) => {
    const slot = slotOf(kept.id)
    // Another monitor may have its external id by now.
    const external_id = kept.external_id !== null && taken.has(kept.external_id) ? null : kept.external_id
    return { ...kept, external_id, organization_id, slot, due_at: Math.min(checkAt, nextDueAt(now, { slot, ...kept })) }
  })
  await insertDueChecks(db, rows, now)
  await insertEach(db, 'monitors', RESTORED, rows)
  await insertLabels(db, MONITOR_LABELS, rows)
  await countMonitors(db, tenant, countsOf(rows, 1))
}

const RESTORED = { ...MONITOR, current_values: 'text', incidence_count: 'bigint', version: 'bigint' } as const
