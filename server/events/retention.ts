import type { Logger } from 'pino'
import type { Clock } from '../clock.ts'
import type { Tenant } from '../context.ts'
import { DELETE_BATCH_SIZE, deleteInBatches, forEachOrganization } from '../database/batches.ts'
import type { Database } from '../database/database.ts'
import { runEvery } from '../database/worker-loop.ts'
import { lowestIdAt } from '../ids.ts'
import { eventRetentionDays } from '../organization/quota.ts'
import type { Plans } from '../plan.ts'
import { DAY_MS } from '../times.ts'

export type EventRetentionDeps = { db: Database; clock: Clock; log: Logger; config: { plans: Plans } }

const EVERY_MS = 60 * 60_000

/** Deletes events and audit log entries beyond the retention of their organization, in small batches. Runs until `stop`. */
export async function runEventRetention(deps: EventRetentionDeps, stop: AbortSignal): Promise<void> {
  await runEvery(EVERY_MS, deps, stop, {
    failure: 'Old events and audit log entries could not be deleted; the next attempt is in an hour.',
    work: () => deleteOldEvents(deps, stop),
  })
}

export async function deleteOldEvents({ db, clock, config }: EventRetentionDeps, stop: AbortSignal): Promise<void> {
  await forEachOrganization(db, stop, async (organizationId) => {
    const days = await eventRetentionDays(db, config.plans, { organizationId })
    if (days === null) return
    const before = clock.now() - days * DAY_MS
    for (const table of ['events', 'audit_log'] as const) {
      await deleteInBatches(clock, stop, () => deleteOldest(db, table, { organizationId }, before))
    }
  })
}

/** Returns how many. The index has the oldest first, so the others are not read. */
async function deleteOldest(
  db: Database,
  table: 'events' | 'audit_log',
  { organizationId }: Tenant,
  before: number,
): Promise<number> {
  const old = await db
    .selectFrom(table)
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('id', '<', lowestIdAt(PREFIXES[table], before))
    .orderBy('id')
    .limit(DELETE_BATCH_SIZE)
    .execute()
  if (old.length === 0) return 0
  const ids = old.map(({ id }) => id)
  await db.deleteFrom(table).where('organization_id', '=', organizationId).where('id', 'in', ids).execute()
  return ids.length
}

const PREFIXES = { events: 'evt', audit_log: 'aud' } as const
