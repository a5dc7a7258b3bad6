import { insertRecoveries } from '../alerts/alert-store.ts'
import { isOneOf, updateEach } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import { fromIndex } from '../database/index-hints.ts'
import { updateTenantRow } from '../database/tenant-row.ts'
import { addToCounts, countWithdrawn, type IncidentMembership, MEMBERSHIP_KEY, type Recovery } from './memberships.ts'
import { countEntries, insertEntries } from './timeline.ts'

/** Records recoveries, resolves incidents without a failing monitor, and inserts their recovery alerts. */
export async function recordRecoveries(
  db: Database,
  organizationId: string,
  recoveries: readonly Recovery[],
  now: number,
): Promise<void> {
  if (recoveries.length === 0) return
  const recoveredIds = new Set(recoveries.flatMap(({ monitor_id, at }) => (at === undefined ? [] : [monitor_id])))
  // Of concurrent transactions that record the same recovery, only the first finds the monitor failing.
  const failing = await lockFailing(db, organizationId, recoveries)
  const rows = recoveries
    .filter(({ incident_id, monitor_id }) => failing.has(`${incident_id} ${monitor_id}`))
    .map(({ incident_id, monitor_id, at = now }) => ({
      organization_id: organizationId,
      incident_id,
      monitor_id,
      new_recovered_at: at,
    }))
  await updateEach(db, { table: 'incident_monitors', key: MEMBERSHIP_KEY, set: { recovered_at: 'bigint' } }, rows)
  const changes = rows.map(({ incident_id }) => ({ incident_id, monitors: 0, failing: -1 }))
  await addToCounts(db, organizationId, changes)
  const counted = rows.map(({ incident_id, monitor_id }) => ({
    incidentId: incident_id,
    kind: recoveredIds.has(monitor_id) ? ('recovered' as const) : ('left' as const),
  }))
  const ended = await db
    .selectFrom('incidents')
    .select(['id', 'monitors'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'id', [...new Set(rows.map(({ incident_id }) => incident_id))]))
    .where('resolved_at', 'is', null)
    .where('failing', '<=', 0)
    .execute()
  const endedIds = new Set(ended.map(({ id }) => id))
  const ofOthers = counted.filter(({ incidentId }) => !endedIds.has(incidentId))
  await insertEntries(db, organizationId, countEntries(ofOthers), now)
  for (const { id, monitors } of ended) {
    const recoveredAt = rows.filter(({ incident_id }) => incident_id === id).map((row) => row.new_recovered_at)
    const at = Math.max(...recoveredAt)
    await updateTenantRow(db, 'incidents', { organizationId }, id, { resolved_at: at })
    await db
      .deleteFrom('incident_causes')
      .where('organization_id', '=', organizationId)
      .where('incident_id', '=', id)
      .execute()
    const isClosed = (await countWithdrawn(db, organizationId, id)) === monitors
    const detail = isClosed ? 'Disabled, deleted or changed' : null
    await insertEntries(db, organizationId, [{ incidentId: id, kind: 'resolved', at, detail }], now)
    await insertRecoveries(db, organizationId, id, now)
  }
}

async function lockFailing(
  db: Database,
  organizationId: string,
  memberships: readonly IncidentMembership[],
): Promise<Set<string>> {
  const rows = await db
    .selectFrom(fromIndex(db, 'incident_monitors', 'failing_monitors'))
    .select(['incident_id', 'monitor_id'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'monitor_id', [...new Set(memberships.map(({ monitor_id }) => monitor_id))]))
    .where('recovered_at', 'is', null)
    .modifyEnd(forUpdate(db))
    .execute()
  return new Set(rows.map(({ incident_id, monitor_id }) => `${incident_id} ${monitor_id}`))
}
