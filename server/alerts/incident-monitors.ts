import type { Selectable } from 'kysely'
import { insertEach, isOneOf, updateEach } from '../database/bulk.ts'
import { type Database, forUpdate } from '../database/database.ts'
import { fromIndex } from '../database/index-hints.ts'
import type { IncidentsTable } from '../database/schema-alerts.ts'
import { recoveredAlerts } from './alert-store.ts'
import { insertEntries } from './timeline.ts'

/** Monitors that left their incidents without an event, taken in one transaction. */
const MOST_LEFT = 200

/** A monitor that fails, and in which incident. */
export type Membership = { monitor_id: string; incident_id: string }
/** `at`: when, where it is known. */
export type Recovered = Membership & { at?: number }
type IncidentRow = Selectable<IncidentsTable>
type Failing = { id: string; monitor_id: string; occurred_at: number; old_state: string }
export type Joined = { incident: IncidentRow; event: Failing }

export function openMemberships(
  db: Database,
  organizationId: string,
  monitorIds: readonly string[],
): Promise<Membership[]> {
  return db
    .selectFrom(fromIndex(db, 'incident_monitors', 'failing_monitors'))
    .select(['monitor_id', 'incident_id'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'monitor_id', monitorIds))
    .where('recovered_at', 'is', null)
    .execute()
}

/** Monitors that were deleted, disabled or changed while they failed: server/monitors/left-incidents.ts notes them. */
export async function leftMemberships(db: Database, organizationId: string): Promise<Recovered[]> {
  const rows = await db
    .selectFrom('incident_monitors')
    .select(['monitor_id', 'incident_id'])
    .where('organization_id', '=', organizationId)
    .where('left_at', 'is not', null)
    .where('recovered_at', 'is', null)
    .orderBy('monitor_id')
    .limit(MOST_LEFT)
    .execute()
  return rows
}

/** Those that left their incidents, were enabled again and still fail. */
export async function returnedMonitors(db: Database, organizationId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('incident_monitors')
    .select('monitor_id')
    .where('organization_id', '=', organizationId)
    .where('returned_at', 'is not', null)
    .orderBy('monitor_id')
    .limit(MOST_LEFT)
    .execute()
  return rows.map(({ monitor_id }) => monitor_id)
}

/** A monitor that was in the incident before has its row again; the others are counted. */
export async function insertMemberships(
  db: Database,
  organizationId: string,
  joined: readonly Joined[],
): Promise<void> {
  if (joined.length === 0) return
  const rows = joined.map(({ incident, event }) => ({
    organization_id: organizationId,
    incident_id: incident.id,
    monitor_id: event.monitor_id,
    event_id: event.id,
    new_event_id: event.id,
    failing_since: event.occurred_at,
    new_failing_since: event.occurred_at,
    new_recovered_at: null,
    new_left_at: null,
    first_result: event.old_state === 'VALID' ? 0 : 1,
    new_first_result: event.old_state === 'VALID' ? 0 : 1,
  }))
  const key = { organization_id: 'text', incident_id: 'text', monitor_id: 'text' } as const
  const again = {
    ...({ event_id: 'text', failing_since: 'bigint', recovered_at: 'bigint' } as const),
    ...({ left_at: 'bigint', first_result: 'bigint' } as const),
  }
  const wasThere = await updateEach(db, { table: 'incident_monitors', key, set: again }, rows)
  const columns = { ...key, event_id: 'text', failing_since: 'bigint', first_result: 'bigint' } as const
  await insertEach(
    db,
    'incident_monitors',
    columns,
    rows.filter((_, index) => !wasThere[index]),
  )
  const counted = rows.map(({ incident_id }, index) => ({
    incidentId: incident_id,
    monitors: wasThere[index] ? 0 : 1,
    failing: 1,
  }))
  await count(db, organizationId, counted)
}

/** Of monitors that fail in another way now. */
export async function changeMemberships(
  db: Database,
  organizationId: string,
  changed: readonly (Membership & { event: Failing })[],
): Promise<void> {
  const key = { organization_id: 'text', incident_id: 'text', monitor_id: 'text' } as const
  const rows = changed.map(({ event, ...place }) => ({
    organization_id: organizationId,
    ...place,
    new_event_id: event.id,
  }))
  await updateEach(db, { table: 'incident_monitors', key, set: { event_id: 'text' } }, rows)
}

type Counted = { incidentId: string; monitors: number; failing: number }

async function count(db: Database, organizationId: string, differences: readonly Counted[]): Promise<void> {
  const sums = [...Map.groupBy(differences, ({ incidentId }) => incidentId)].sort().map(([id, all]) => ({
    organization_id: organizationId,
    id,
    new_monitors: all.reduce((sum, { monitors }) => sum + monitors, 0),
    new_failing: all.reduce((sum, { failing }) => sum + failing, 0),
  }))
  const change = {
    table: 'incidents',
    key: { organization_id: 'text', id: 'text' },
    add: { monitors: 'bigint', failing: 'bigint' },
  }
  await updateEach(db, change as never, sums)
}

/** Monitors that recovered. An incident whose last monitor recovered is resolved, and everyone who was alerted is notified. */
export async function recover(
  db: Database,
  organizationId: string,
  recovered: readonly Recovered[],
  now: number,
): Promise<void> {
  if (recovered.length === 0) return
  const rows = recovered.map(({ monitor_id, incident_id, at = now }) => ({
    organization_id: organizationId,
    incident_id,
    monitor_id,
    new_recovered_at: at,
  }))
  const key = { organization_id: 'text', incident_id: 'text', monitor_id: 'text' } as const
  // Only one of several that recover it at the same time finds it failing.
  const failing = await stillFailing(db, organizationId, rows)
  const changed = rows.filter(({ incident_id, monitor_id }) => failing.has(`${incident_id} ${monitor_id}`))
  await updateEach(db, { table: 'incident_monitors', key, set: { recovered_at: 'bigint' } }, changed)
  await count(
    db,
    organizationId,
    changed.map(({ incident_id }) => ({ incidentId: incident_id, monitors: 0, failing: -1 })),
  )
  const ended = await db
    .selectFrom('incidents')
    .select(['id', 'monitors'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'id', [...new Set(changed.map(({ incident_id }) => incident_id))]))
    .where('resolved_at', 'is', null)
    .where('failing', '<=', 0)
    .execute()
  for (const { id, monitors } of ended) {
    const last = changed.filter(({ incident_id }) => incident_id === id).map((row) => row.new_recovered_at)
    const at = Math.max(...last)
    await db
      .updateTable('incidents')
      .set({ resolved_at: at })
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .execute()
    await db
      .deleteFrom('incident_causes')
      .where('organization_id', '=', organizationId)
      .where('incident_id', '=', id)
      .execute()
    const isClosed = (await countLeft(db, organizationId, id)) === monitors
    const detail = isClosed ? 'Disabled, deleted or changed' : null
    await insertEntries(db, organizationId, [{ incidentId: id, kind: 'resolved', at, detail }], now)
    await recoveredAlerts(db, organizationId, id, now)
  }
}

/** How many monitors of an incident did not recover, but were disabled, deleted or changed. */
export async function countLeft(db: Database, organizationId: string, incidentId: string): Promise<number> {
  const { count } = await db
    .selectFrom(fromIndex(db, 'incident_monitors', 'left_monitors_of_incident'))
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('organization_id', '=', organizationId)
    .where('incident_id', '=', incidentId)
    .where('left_at', 'is not', null)
    .executeTakeFirstOrThrow()
  return Number(count)
}

async function stillFailing(
  db: Database,
  organizationId: string,
  rows: readonly { incident_id: string; monitor_id: string }[],
): Promise<Set<string>> {
  const found = await db
    .selectFrom(fromIndex(db, 'incident_monitors', 'failing_monitors'))
    .select(['incident_id', 'monitor_id'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'monitor_id', [...new Set(rows.map(({ monitor_id }) => monitor_id))]))
    .where('recovered_at', 'is', null)
    .modifyEnd(forUpdate(db))
    .execute()
  return new Set(found.map(({ incident_id, monitor_id }) => `${incident_id} ${monitor_id}`))
}
