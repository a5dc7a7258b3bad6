import type { Clock } from '../clock.ts'
import { deleteBatch, deleteInBatches, forEachOrganization } from '../database/batches.ts'
import type { Database } from '../database/database.ts'
import { lowestIdAt } from '../ids.ts'
import { eventRetentionDays } from '../organization/quota.ts'
import type { Plans } from '../plan.ts'
import { DAY_MS } from '../times.ts'

/** Deletes events and audit log entries beyond the retention of their organization, in small batches, until `stop`. */
export async function deleteOldEvents(
  { db, clock, config }: { db: Database; clock: Clock; config: { plans: Plans } },
  stop: AbortSignal,
): Promise<void> {
  await forEachOrganization(db, stop, async (organizationId) => {
    const days = await eventRetentionDays(db, config.plans, { organizationId })
    if (days === null) return
    const before = clock.now() - days * DAY_MS
    for (const [table, prefix] of [
      ['events', 'evt'],
      ['audit_log', 'aud'],
    ] as const) {
      const old = db
        .selectFrom(table)
        .where('organization_id', '=', organizationId)
        .where('id', '<', lowestIdAt(prefix, before))
        .orderBy('id')
      await deleteInBatches(clock, stop, () => deleteBatch(db, table, ['organization_id', 'id'], old))
    }
  })
}
