import { type Selectable, sql } from 'kysely'
import type { Tenant } from '../context.ts'
import type { Database } from '../database/database.ts'
import type { ZoneEventsTable, ZoneFindingsTable } from '../database/schema-zones.ts'
import { newId } from '../ids.ts'
import type { Finding, FindingsAfter } from './findings.ts'

/** All findings of a zone, confirmed or not. Their number is bounded by that of its name servers and checks. */
export async function readFindings(db: Database, { organizationId }: Tenant, zoneId: string): Promise<Finding[]> {
  const rows = await db
    .selectFrom('zone_findings')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('zone_id', '=', zoneId)
    .orderBy('code')
    .orderBy('about')
    .execute()
  return rows.map(toFinding)
}

export type ZoneEventRow = Selectable<ZoneEventsTable>
export type FindingRow = Selectable<ZoneFindingsTable>

/** With an id that has the order of their levels. */
export const findingsInOrder = (db: Database, { organizationId }: Tenant, zoneId: string) =>
  db
    .selectFrom(
      db
        .selectFrom('zone_findings')
        .selectAll()
        .select(
          sql<string>`(case level when 'critical' then '0' when 'error' then '1' when 'warning' then '2' else '3' end)
            || ' ' || code || ' ' || about`.as('id'),
        )
        .where('organization_id', '=', organizationId)
        .where('zone_id', '=', zoneId)
        .as('zone_findings'),
    )
    .selectAll('zone_findings')

export function toFinding(row: FindingRow): Finding {
  return {
    code: row.code,
    about: row.about,
    level: row.level,
    params: JSON.parse(row.params),
    evidence: JSON.parse(row.evidence),
    firstSeenAt: row.first_seen_at,
    confirmedAt: row.confirmed_at,
    missingSince: row.missing_since,
  }
}

/** Writes what a look at `at` changed. Returns an event for each finding that was confirmed or ended. */
export async function writeFindings(
  db: Database,
  { organizationId }: Tenant,
  zoneId: string,
  { changed, removed, events }: Pick<FindingsAfter, 'changed' | 'removed' | 'events'>,
  at: number,
): Promise<ZoneEventRow[]> {
  const keys = { organization_id: organizationId, zone_id: zoneId }
  for (const { code, about } of removed) {
    await db
      .deleteFrom('zone_findings')
      .where('organization_id', '=', organizationId)
      .where('zone_id', '=', zoneId)
      .where('code', '=', code)
      .where('about', '=', about)
      .execute()
  }
  for (const { code, about, firstSeenAt, ...finding } of changed) {
    const columns = {
      level: finding.level,
      params: JSON.stringify(finding.params),
      evidence: JSON.stringify(finding.evidence),
      confirmed_at: finding.confirmedAt,
      missing_since: finding.missingSince,
    }
    await db
      .insertInto('zone_findings')
      .values({ ...keys, code, about, first_seen_at: firstSeenAt, ...columns })
      .onConflict((conflict) => conflict.columns(['organization_id', 'zone_id', 'code', 'about']).doUpdateSet(columns))
      .execute()
  }
  const rows = events.map(({ kind, finding: { code, about, level, params } }) => ({
    ...{ ...keys, id: newId('zev', at), occurred_at: at, kind, code, about, level },
    params: JSON.stringify(params),
  }))
  if (rows.length > 0) await db.insertInto('zone_events').values(rows).execute()
  return rows
}
