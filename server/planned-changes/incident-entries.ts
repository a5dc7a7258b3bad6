import type { Database } from '../database/database.ts'
import { openMemberships } from '../incidents/memberships.ts'
import { insertEntries } from '../incidents/timeline.ts'
import { toIso } from '../times.ts'

type Planned = { createdBy: string; to: number; now: number }

/** Adds the planned change to the timelines of the open incidents of these monitors. */
export async function addToIncidents(
  db: Database,
  organizationId: string,
  monitorIds: readonly string[],
  { createdBy, to, now }: Planned,
): Promise<void> {
  const memberships = await openMemberships(db, organizationId, monitorIds)
  const incidents = [...new Set(memberships.map(({ incident_id }) => incident_id))]
  const entries = incidents.map((incidentId) => {
    return { incidentId, kind: 'planned' as const, actor: createdBy, detail: toIso(to) }
  })
  await insertEntries(db, organizationId, entries, now)
}
