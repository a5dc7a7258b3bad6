import type { Clock } from '../clock.ts'
import { deleteBatch, deleteInBatches, forEachOrganization } from '../database/batches.ts'
import type { Database } from '../database/database.ts'
import { lowestIdAt } from '../ids.ts'
import { eventRetentionDays } from '../organization/quota.ts'
import type { Plans } from '../plan.ts'
import { DAY_MS } from '../times.ts'

/** Deletes events of zones beyond the retention of events of their organization, in small batches, until `stop`. */
export async function deleteOldZoneEvents(
  { db, clock, config }: { db: Database; clock: Clock; config: { plans: Plans } },
  stop: AbortSignal,
): Promise<void> {
  await forEachOrganization(db, stop, async (organizationId) => {
    const days = await eventRetentionDays(db, config.plans, { organizationId })
    if (days === null) return
    const old = db
      .selectFrom('zone_events')
      .where('organization_id', '=', organizationId)
      .where('id', '<', lowestIdAt('zev', clock.now() - days * DAY_MS))
      .orderBy('id')
    await deleteInBatches(clock, stop, () => deleteBatch(db, 'zone_events', ['organization_id', 'zone_id', 'id'], old))
  })
}
