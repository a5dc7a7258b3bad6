import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { DELETE_BATCH_SIZE, deleteBatch, deleteInBatches, forEachOrganization } from '../database/batches.ts'
import type { Database } from '../database/database.ts'
import { deleteTenantRow } from '../database/tenant-row.ts'
import { lowestIdAt } from '../ids.ts'
import { CONFIRMATION_MS } from '../mail/links.ts'
import { eventRetentionDays } from '../organization/quota.ts'
import { DAY_MS } from '../times.ts'

/** Also for organizations that keep events longer. */
const MAX_RETENTION_DAYS = 90

/** Deletes old alerts and incidents in small batches, until `stop`, and what else organizations no longer need for alerts. */
export async function deleteOldAlerts(
  { db, clock, config }: { db: Database; clock: Clock; config: Pick<Config, 'plans'> },
  stop: AbortSignal,
): Promise<void> {
  await forEachOrganization(db, stop, async (id) => {
    const eventDays = await eventRetentionDays(db, config.plans, { organizationId: id })
    const days = Math.min(MAX_RETENTION_DAYS, eventDays ?? MAX_RETENTION_DAYS)
    const before = clock.now() - days * DAY_MS
    await deleteInBatches(clock, stop, () => deleteAlerts(db, id, before))
    await deleteInBatches(clock, stop, () => deleteIncidents(db, id, before))
    await deleteEndedWindows(db, id, before)
    await deleteClosedChanges(db, id, before)
    await deleteUnconfirmedAddresses(db, id, clock.now() - CONFIRMATION_MS)
  })
}

/** Keeps pending alerts, and those of open incidents, because they say which channels receive the recovery. Attempts are deleted by cascade. */
async function deleteAlerts(db: Database, organizationId: string, before: number): Promise<number> {
  const old = db
    .selectFrom('alerts')
    .where('organization_id', '=', organizationId)
    .where('id', '<', lowestIdAt('alr', before))
    .where('status', 'not in', ['PENDING', 'RETRYING', 'HELD'])
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('incidents')
            .select('incidents.id')
            .whereRef('incidents.organization_id', '=', 'alerts.organization_id')
            .whereRef('incidents.id', '=', 'alerts.incident_id')
            .where('incidents.resolved_at', 'is', null),
        ),
      ),
    )
    .orderBy('id')
  return await deleteBatch(db, 'alerts', ['organization_id', 'id'], old)
}

/** An incident may have any number of rows in these tables. */
const INCIDENT_TABLES = [
  ['incident_monitors', 'monitor_id'],
  ['incident_events', 'event_id'],
  ['incident_entries', 'id'],
  ['incident_groups', 'group_id'],
] as const

/** Deletes one batch of rows of the oldest incident; the incident itself when it has no more rows. */
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
  for (const [table, column] of INCIDENT_TABLES) {
    const rows = db
      .selectFrom(table)
      .where('organization_id', '=', organizationId)
      .where('incident_id', '=', incident.id)
      .orderBy(column)
    const key = ['organization_id', 'incident_id', column] as const
    if ((await deleteBatch(db, table, key, rows)) > 0) return DELETE_BATCH_SIZE
  }
  await deleteTenantRow(db, 'incidents', { organizationId }, incident.id)
  return DELETE_BATCH_SIZE
}

async function deleteUnconfirmedAddresses(db: Database, organizationId: string, before: number): Promise<void> {
  await db
    .deleteFrom('alert_addresses')
    .where('organization_id', '=', organizationId)
    .where('confirmed_at', 'is', null)
    .where('unsubscribed_at', 'is', null)
    .where('confirmation_sent_at', '<', before)
    .execute()
}

async function deleteEndedWindows(db: Database, organizationId: string, before: number): Promise<void> {
  await db
    .deleteFrom('maintenance_windows')
    .where('organization_id', '=', organizationId)
    .where('last_end_at', '<', before)
    .execute()
}

async function deleteClosedChanges(db: Database, organizationId: string, before: number): Promise<void> {
  await db
    .deleteFrom('planned_changes')
    .where('organization_id', '=', organizationId)
    .where('closed_at', '<', before)
    .execute()
}
