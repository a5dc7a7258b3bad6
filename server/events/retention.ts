import type { Logger } from 'pino'
import { deleteOldAudit } from '../audit-log.ts'
import type { Clock } from '../clock.ts'
import type { Tenant } from '../context.ts'
import type { Database } from '../database/database.ts'
import { lowestIdAt } from '../ids.ts'
import { retentionDaysOf } from '../organization/usage.ts'
import type { Plans } from '../plan.ts'

export type EventRetentionDeps = { db: Database; clock: Clock; log: Logger; config: { plans: Plans } }

const DAY_MS = 24 * 60 * 60_000
const EVERY_MS = 60 * 60_000
const AT_ONCE = 200
/** After each batch, so that whoever waits for the database comes first. */
const PAUSE_MS = 20

/** Deletes events and entries of the audit log that are older than their organization keeps them, in small batches. Runs until `stop`. */
export async function runEventRetention(deps: EventRetentionDeps, { stop }: { stop: AbortSignal }): Promise<void> {
  while (!stop.aborted) {
    try {
      await sweepEvents(deps, stop)
    } catch (err) {
      deps.log.error({ err }, 'Old events and audit log entries could not be deleted; the next attempt is in an hour.')
    }
    await deps.clock.sleep(EVERY_MS, stop)
  }
}

export async function sweepEvents({ db, clock, config }: EventRetentionDeps, stop: AbortSignal): Promise<void> {
  for (let after = ''; !stop.aborted; ) {
    const organizations = await db
      .selectFrom('organizations')
      .select('id')
      .where('id', '>', after)
      .orderBy('id')
      .limit(AT_ONCE)
      .execute()
    for (const { id } of organizations) {
      after = id
      const days = await retentionDaysOf(db, config.plans, { organizationId: id })
      if (days === null) continue
      const before = clock.now() - days * DAY_MS
      for (const deleteOld of [deleteOldEvents, deleteOldAudit]) {
        while (!stop.aborted && (await deleteOld(db, { organizationId: id }, before, AT_ONCE)) === AT_ONCE)
          await clock.sleep(PAUSE_MS, stop)
      }
    }
    if (organizations.length < AT_ONCE) return
  }
}

/** The oldest come first in the index, so that what is kept is never walked over. */
async function deleteOldEvents(
  db: Database,
  { organizationId }: Tenant,
  before: number,
  limit: number,
): Promise<number> {
  const old = await db
    .selectFrom('events')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('id', '<', lowestIdAt('evt', before))
    .orderBy('id')
    .limit(limit)
    .execute()
  if (old.length === 0) return 0
  const ids = old.map(({ id }) => id)
  await db.deleteFrom('events').where('organization_id', '=', organizationId).where('id', 'in', ids).execute()
  return ids.length
}
