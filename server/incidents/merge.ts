import { sql } from 'kysely'
import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'

/**
 * Moves everything of incidents that nobody knows of yet into another one with the same cause, and deletes them. All of them are
 * locked, as are their alerts, and none of their monitors has recovered.
 */
export async function mergeIncidents(
  db: Database,
  organizationId: string,
  into: string,
  from: readonly string[],
): Promise<void> {
  if (from.length === 0) return
  const ofOrganization = sql`organization_id = ${organizationId}`
  const isMerged = sql`${ofOrganization} and ${isOneOf(db, 'incident_id', from)}`
  for (const table of ['incident_monitors', 'incident_events', 'incident_causes'])
    await sql`update ${sql.table(table)} set incident_id = ${into} where ${isMerged}`.execute(db)
  await sql`insert into incident_groups (organization_id, group_id, incident_id)
    select distinct organization_id, group_id, ${into} from incident_groups where ${isMerged}
    on conflict (organization_id, group_id, incident_id) do nothing`.execute(db)
  // The first cause of an incident is in its row.
  await sql`insert into incident_causes (organization_id, cause, incident_id)
    select organization_id, cause, ${into} from incidents where ${ofOrganization} and ${isOneOf(db, 'id', from)}
    on conflict (organization_id, cause) do update set incident_id = excluded.incident_id`.execute(db)
  await mergeAlerts(db, organizationId, into, from)
  await sql`update incidents set zone_level = (select min(merged.zone_level) from incidents as merged
      where merged.organization_id = ${organizationId} and ${isOneOf(db, 'merged.id', [into, ...from])})
    where ${ofOrganization} and id = ${into}`.execute(db) // in the alphabet, the worst level comes first
  await sql`delete from incidents where ${ofOrganization} and ${isOneOf(db, 'id', from)}`.execute(db)
  const count = sql`select count(*) from incident_monitors where ${ofOrganization} and incident_id = ${into}`
  await sql`update incidents set monitors = (${count}), failing = (${count} and recovered_at is null), zones = (${count} and substr(monitor_id, 1, 4) = 'zon_')
    where ${ofOrganization} and id = ${into}`.execute(db)
}

/** A rule and channel have one alert of an incident. One that waits is kept rather than one that was canceled. */
async function mergeAlerts(db: Database, organizationId: string, into: string, from: readonly string[]) {
  const alerts = await db
    .selectFrom('alerts')
    .select(['id', 'incident_id', 'rule_id', 'channel_id', 'kind', 'status'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'incident_id', [into, ...from]))
    .orderBy('id')
    .execute()
  const kept: string[] = []
  const dropped: string[] = []
  for (const same of Map.groupBy(
    alerts,
    ({ rule_id, channel_id, kind }) => `${rule_id} ${channel_id} ${kind}`,
  ).values()) {
    const rank = ({ status, incident_id }: (typeof alerts)[number]) =>
      (status === 'CANCELED' ? 2 : 0) + (incident_id === into ? 0 : 1)
    const [first, ...others] = same.toSorted((one, other) => rank(one) - rank(other))
    if (first!.incident_id !== into) kept.push(first!.id)
    dropped.push(...others.map(({ id }) => id))
  }
  const ofOrganization = sql`organization_id = ${organizationId}`
  await sql`delete from alerts where ${ofOrganization} and ${isOneOf(db, 'id', dropped)}`.execute(db)
  await sql`update alerts set incident_id = ${into} where ${ofOrganization} and ${isOneOf(db, 'id', kept)}`.execute(db)
}
