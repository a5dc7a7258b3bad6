import type { RawBuilder } from 'kysely'
import type { Database } from '../database/database.ts'
import type { ZoneProblem, ZoneSummary } from './zone-message.ts'

/** Zones that a message names. */
const MAX_ZONES = 5

/** The zones of the incident, those that failed first. */
export async function firstZones(
  db: Database,
  { organization_id, incident_id }: { organization_id: string; incident_id: string | null },
  where: RawBuilder<boolean>,
): Promise<(ZoneSummary & { failingSince: number })[]> {
  const rows = await db
    .selectFrom('incident_monitors')
    .innerJoin('zones', (join) =>
      join
        .onRef('zones.organization_id', '=', 'incident_monitors.organization_id')
        .onRef('zones.id', '=', 'incident_monitors.monitor_id'),
    )
    .select(['zones.id', 'zones.name', 'zones.health', 'zones.problems', 'incident_monitors.failing_since'])
    .where('incident_monitors.organization_id', '=', organization_id)
    .where('incident_monitors.incident_id', '=', incident_id!)
    .where(where)
    .orderBy('incident_monitors.failing_since')
    .limit(MAX_ZONES)
    .execute()
  return rows.map(({ problems, failing_since, ...zone }) => ({
    ...zone,
    problems: JSON.parse(problems) as ZoneProblem[],
    failingSince: failing_since,
  }))
}
