import { sql } from 'kysely'
import type { Config } from '../config/config.ts'
import { DELETED_AT_ONCE, deleteInBatches, forEachOrganization } from '../database/batches.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { runEvery, type WorkerDeps } from '../database/worker-loop.ts'
import { lowestIdAt } from '../ids.ts'
import { retentionDaysOf } from '../organization/usage.ts'
import { recover } from './evaluate.ts'

export type AlertRetentionDeps = Pick<WorkerDeps, 'db' | 'clock' | 'log'> & { config: Pick<Config, 'plans'> }

const DAY_MS = 24 * 60 * 60_000
const EVERY_MS = 60 * 60_000
const GONE_EVERY_MS = 60_000
const PAUSE_MS = 20
const SLICE = 500
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

/** Monitors that were deleted or disabled have no event that says so. Runs until `stop`. */
export async function runGoneMonitors(deps: AlertRetentionDeps, stop: AbortSignal): Promise<void> {
  await runEvery(GONE_EVERY_MS, deps, stop, {
    failure: 'Incidents of deleted monitors could not be resolved. The next attempt is in a minute.',
    work: () => recoverGoneMonitors(deps, stop),
  })
}

/** Takes monitors that are deleted, disabled or not checked yet out of their incidents, and resolves those that are empty then. */
export async function recoverGoneMonitors({ db, clock }: AlertRetentionDeps, stop: AbortSignal): Promise<void> {
  for (let after: Failing | undefined; !stop.aborted; await clock.sleep(PAUSE_MS, stop)) {
    const failing = await failingAfter(db, after)
    const gone = failing.filter(({ is_active, state }) => is_active !== 1 || state === 'UNSET')
    for (const [organizationId, monitors] of Map.groupBy(gone, ({ organization_id }) => organization_id)) {
      await inTransaction(db, (transaction) => recover(transaction, organizationId, monitors, clock.now()))
    }
    if (failing.length < SLICE) return
    after = failing.at(-1)!
  }
}

type Failing = Awaited<ReturnType<typeof failingAfter>>[number]

function failingAfter(db: Database, after?: { organization_id: string; monitor_id: string }) {
  const { organization_id = '', monitor_id = '' } = after ?? {}
  return db
    .selectFrom('incident_monitors')
    .leftJoin('monitors', (join) =>
      join
        .onRef('monitors.organization_id', '=', 'incident_monitors.organization_id')
        .onRef('monitors.id', '=', 'incident_monitors.monitor_id'),
    )
    .select(['incident_monitors.organization_id', 'incident_monitors.incident_id', 'incident_monitors.monitor_id'])
    .select(['monitors.is_active', 'monitors.state'])
    .where('incident_monitors.recovered_at', 'is', null)
    .where(
      sql<boolean>`(incident_monitors.organization_id, incident_monitors.monitor_id) > (${organization_id}, ${monitor_id})`,
    )
    .orderBy('incident_monitors.organization_id')
    .orderBy('incident_monitors.monitor_id')
    .limit(SLICE)
    .execute()
}

export async function deleteOldAlerts({ db, clock, config }: AlertRetentionDeps, stop: AbortSignal): Promise<void> {
  await forEachOrganization(db, stop, async (id) => {
    const days = Math.min(KEPT_DAYS, (await retentionDaysOf(db, config.plans, { organizationId: id })) ?? KEPT_DAYS)
    const before = clock.now() - days * DAY_MS
    await deleteInBatches(clock, stop, () => deleteAlerts(db, id, before))
    await deleteInBatches(clock, stop, () => deleteIncidents(db, id, before))
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
