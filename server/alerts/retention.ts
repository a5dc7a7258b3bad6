import { sql } from 'kysely'
import type { Config } from '../config/config.ts'
import { DELETE_BATCH_SIZE, deleteInBatches, forEachOrganization } from '../database/batches.ts'
import type { Database } from '../database/database.ts'
import { deleteTenantRow } from '../database/tenant-row.ts'
import { runEvery, type WorkerDeps } from '../database/worker-loop.ts'
import { lowestIdAt } from '../ids.ts'
import { eventRetentionDays } from '../organization/quota.ts'
import { DAY_MS } from '../times.ts'

export type AlertRetentionDeps = Pick<WorkerDeps, 'db' | 'clock' | 'log'> & { config: Pick<Config, 'plans'> }

const INTERVAL_MS = 60 * 60_000
/** Also for organizations that keep events longer. */
const MAX_RETENTION_DAYS = 90
const UNCONFIRMED_DAYS = 7

/** Runs until `stop`. */
export async function runAlertRetention(deps: AlertRetentionDeps, stop: AbortSignal): Promise<void> {
  await runEvery(INTERVAL_MS, deps, stop, {
    failure: 'Old alerts could not be deleted. The next attempt is in an hour.',
    work: () => deleteOldAlerts(deps, stop),
  })
}

export async function deleteOldAlerts(
  { db, clock, config }: Omit<AlertRetentionDeps, 'log'>,
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
    await deleteUnconfirmedAddresses(db, id, clock.now() - UNCONFIRMED_DAYS * DAY_MS)
  })
}

/** Keeps pending alerts, and those of open incidents, because they say which channels receive the recovery. Attempts are deleted by cascade. */
async function deleteAlerts(db: Database, organizationId: string, before: number): Promise<number> {
  const rows = await db
    .selectFrom('alerts')
    .leftJoin('incidents', (join) =>
      join
        .onRef('incidents.organization_id', '=', 'alerts.organization_id')
        .onRef('incidents.id', '=', 'alerts.incident_id'),
    )
    .select('alerts.id')
    .where('alerts.organization_id', '=', organizationId)
    .where('alerts.id', '<', lowestIdAt('alr', before))
    .where('alerts.status', 'not in', ['PENDING', 'RETRYING', 'HELD'])
    .where((where) => where.or([where('incidents.id', 'is', null), where('incidents.resolved_at', 'is not', null)]))
    .orderBy('alerts.id')
    .limit(DELETE_BATCH_SIZE)
    .execute()
  if (rows.length === 0) return 0
  const ids = rows.map(({ id }) => id)
  await db.deleteFrom('alerts').where('organization_id', '=', organizationId).where('id', 'in', ids).execute()
  return rows.length
}

/** An incident may have any number of rows in these tables. */
const INCIDENT_TABLES = [
  ['incident_monitors', 'monitor_id'],
  ['incident_events', 'event_id'],
  ['incident_entries', 'id'],
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
    const key = sql.ref(column)
    const incidentRows = sql`${sql.table(table)} where organization_id = ${organizationId} and incident_id = ${incident.id}`
    const batch = sql`select ${key} from ${incidentRows} limit ${sql.lit(DELETE_BATCH_SIZE)}`
    const { rows } = await sql`delete from ${incidentRows} and ${key} in (${batch}) returning ${key}`.execute(db)
    if (rows.length > 0) return DELETE_BATCH_SIZE
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
