import type { Config } from '../config/config.ts'
import { DELETED_AT_ONCE, deleteInBatches, forEachOrganization } from '../database/batches.ts'
import type { Database } from '../database/database.ts'
import { runEvery, type WorkerDeps } from '../database/worker-loop.ts'
import { lowestIdAt } from '../ids.ts'
import { retentionDaysOf } from '../organization/usage.ts'

export type AlertRetentionDeps = Pick<WorkerDeps, 'db' | 'clock' | 'log'> & { config: Pick<Config, 'plans'> }

const DAY_MS = 24 * 60 * 60_000
const EVERY_MS = 60 * 60_000
/** Where events are kept for good, alerts are not. */
const KEPT_DAYS = 90
const UNCONFIRMED_DAYS = 7

/** Deletes what is not needed any more, a little at a time. Runs until `stop`. */
export async function runAlertRetention(deps: AlertRetentionDeps, stop: AbortSignal): Promise<void> {
  await runEvery(EVERY_MS, deps, stop, {
    failure: 'Old alerts could not be deleted. The next attempt is in an hour.',
    work: () => deleteOldAlerts(deps, stop),
  })
}

export async function deleteOldAlerts({ db, clock, config }: AlertRetentionDeps, stop: AbortSignal): Promise<void> {
  await forEachOrganization(db, stop, async (id) => {
    const days = Math.min(KEPT_DAYS, (await retentionDaysOf(db, config.plans, { organizationId: id })) ?? KEPT_DAYS)
    const before = clock.now() - days * DAY_MS
    await deleteInBatches(clock, stop, () => deleteAlerts(db, id, before))
    await deleteInBatches(clock, stop, () => deleteIncidents(db, id, before))
    await deleteWindows(db, id, before)
    await deletePlannedChanges(db, id, before)
    await deleteAddresses(db, id, clock.now() - UNCONFIRMED_DAYS * DAY_MS)
  })
}

/** What still waits is kept. Attempts go with their alerts. */
async function deleteAlerts(db: Database, organizationId: string, before: number): Promise<number> {
  const rows = await db
    .selectFrom('alerts')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('id', '<', lowestIdAt('alr', before))
    .where('status', 'not in', ['PENDING', 'RETRYING', 'HELD'])
    .orderBy('id')
    .limit(DELETED_AT_ONCE)
    .execute()
  if (rows.length === 0) return 0
  const ids = rows.map(({ id }) => id)
  await db.deleteFrom('alerts').where('organization_id', '=', organizationId).where('id', 'in', ids).execute()
  return rows.length
}

/** Its monitors go first, in batches: an incident may have had any number. */
async function deleteIncidents(db: Database, organizationId: string, before: number): Promise<number> {
  const incident = await db
    .selectFrom('incidents')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('resolved_at', '<', before)
    .orderBy('resolved_at')
    .limit(1)
    .executeTakeFirst()
  if (!incident) return 0
  const monitors = await db
    .selectFrom('incident_monitors')
    .select('monitor_id')
    .where('organization_id', '=', organizationId)
    .where('incident_id', '=', incident.id)
    .limit(DELETED_AT_ONCE)
    .execute()
  if (monitors.length === 0) {
    await db
      .deleteFrom('incidents')
      .where('organization_id', '=', organizationId)
      .where('id', '=', incident.id)
      .execute()
    return DELETED_AT_ONCE
  }
  await db
    .deleteFrom('incident_monitors')
    .where('organization_id', '=', organizationId)
    .where('incident_id', '=', incident.id)
    .where(
      'monitor_id',
      'in',
      monitors.map(({ monitor_id }) => monitor_id),
    )
    .execute()
  return DELETED_AT_ONCE
}

/** Nobody confirmed them. */
async function deleteAddresses(db: Database, organizationId: string, before: number): Promise<void> {
  await db
    .deleteFrom('alert_addresses')
    .where('organization_id', '=', organizationId)
    .where('confirmed_at', 'is', null)
    .where('unsubscribed_at', 'is', null)
    .where('confirmation_sent_at', '<', before)
    .execute()
}

async function deleteWindows(db: Database, organizationId: string, before: number): Promise<void> {
  await db
    .deleteFrom('maintenance_windows')
    .where('organization_id', '=', organizationId)
    .where('last_end_at', '<', before)
    .execute()
}

/** Those that are closed. */
async function deletePlannedChanges(db: Database, organizationId: string, before: number): Promise<void> {
  await db
    .deleteFrom('planned_changes')
    .where('organization_id', '=', organizationId)
    .where('closed_at', '<', before)
    .execute()
}
