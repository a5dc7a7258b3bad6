import type { Tenant } from '../context.ts'
import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { nextVersion } from '../database/versions.ts'

/** Cancels the open planned changes of monitors that are to expect something else: what was planned is about what they expected. */
export async function cancelPlannedChanges(
  db: Database,
  { organizationId }: Tenant,
  monitorIds: readonly string[],
  now: number,
): Promise<void> {
  if (monitorIds.length === 0) return
  await db
    .updateTable('planned_changes')
    .set({ outcome: 'CANCELED', closed_at: now, ...nextVersion })
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'monitor_id', monitorIds))
    .where('outcome', 'is', null)
    .execute()
}
