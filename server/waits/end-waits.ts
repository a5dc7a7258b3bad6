import { insertInformationAlerts } from '../alerts/information-alerts.ts'
import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import { findTenantRow } from '../database/tenant-row.ts'
import type { Claim } from '../queue/lease-queue.ts'
import { pageIdsOf } from './setup-pages.ts'

type WaitKey = Pick<Claim<'due_waits'>, 'organization_id' | 'monitor_id'>

/** Ends the waits of monitors that a check found valid. Call it in the transaction that writes their state, which locks them. */
export async function endFoundWaits(
  db: Database,
  monitors: readonly { id: string; organization_id: string }[],
  now: number,
): Promise<void> {
  for (const [organization_id, found] of Map.groupBy(monitors, (monitor) => monitor.organization_id)) {
    await lockPagesOf(db, organization_id, idsOf(found))
    const waiting = await db
      .selectFrom('waits')
      .select(['organization_id', 'monitor_id'])
      .where('organization_id', '=', organization_id)
      .where(isOneOf(db, 'monitor_id', idsOf(found)))
      .where('ended_at', 'is', null)
      .orderBy('monitor_id')
      .modifyEnd(forUpdate(db))
      .execute()
    for (const wait of waiting) {
      await db
        .deleteFrom('due_waits')
        .where('organization_id', '=', organization_id)
        .where('monitor_id', '=', wait.monitor_id)
        .execute()
      await markEnded(db, wait, 'valid', now)
    }
  }
}

/** Of two checks that find the last records of a page, the later one sees that all are found. Pages are locked before waits. */
async function lockPagesOf(db: Database, organizationId: string, monitorIds: readonly string[]): Promise<void> {
  const pageIds = await pageIdsOf(db, { organizationId }, monitorIds)
  if (pageIds.length === 0) return
  await db
    .selectFrom('setup_pages')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'id', pageIds))
    .orderBy('id')
    .modifyEnd(forUpdate(db))
    .execute()
}

const idsOf = (monitors: readonly { id: string }[]) => monitors.map(({ id }) => id)

/** Call it in the transaction that ends the wait. */
export async function markEnded(
  db: Database,
  { organization_id, monitor_id }: WaitKey,
  result: 'valid' | 'timed_out',
  now: number,
) {
  await db
    .updateTable('waits')
    .set({ ended_at: now, result })
    .where('organization_id', '=', organization_id)
    .where('monitor_id', '=', monitor_id)
    .execute()
  const monitor = await findTenantRow(db, 'monitors', { organizationId: organization_id }, monitor_id)
  if (monitor?.is_active !== 1) return
  const what = result === 'valid' ? ('record_found' as const) : ('wait_timed_out' as const)
  await insertInformationAlerts(db, monitor, { what, expected: JSON.parse(monitor.expected_values) }, now)
}
