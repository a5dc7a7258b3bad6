import { type Selectable, sql } from 'kysely'
import { insertEach, insertEachNew, isOneOf, updateEach } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { fromIndex } from '../database/index-hints.ts'
import type { Bool } from '../database/schema.ts'
import type { IncidentsTable } from '../database/schema-alerts.ts'

/** Rows that one transaction reads. */
const BATCH_SIZE = 200

/** A failing monitor and its incident. */
export type IncidentMembership = { monitor_id: string; incident_id: string }
/** `at`: the time of the recovery, if known. */
export type Recovery = IncidentMembership & { at?: number }
/** `group_id`: null for a zone. */
type FailingEvent = { id: string; monitor_id: string; group_id: string | null; occurred_at: number; old_state: string }
export type NewMembership = { incident: Selectable<IncidentsTable>; event: FailingEvent }

export const MEMBERSHIP_KEY = { organization_id: 'text', incident_id: 'text', monitor_id: 'text' } as const

const GROUP_KEY = { organization_id: 'text', group_id: 'text', incident_id: 'text' } as const

export function openMemberships(
  db: Database,
  organizationId: string,
  monitorIds: readonly string[],
): Promise<IncidentMembership[]> {
  return db
    .selectFrom(fromIndex(db, 'incident_monitors', 'failing_monitors'))
    .select(['monitor_id', 'incident_id'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'monitor_id', monitorIds))
    .where('recovered_at', 'is', null)
    .execute()
}

/** Monitors that were deleted, disabled or changed while they failed. server/monitors/incident-membership.ts sets `left_at`. */
export function leftMemberships(db: Database, organizationId: string): Promise<Recovery[]> {
  return db
    .selectFrom('incident_monitors')
    .select(['monitor_id', 'incident_id'])
    .where('organization_id', '=', organizationId)
    .where('left_at', 'is not', null)
    .where('recovered_at', 'is', null)
    .orderBy('monitor_id')
    .limit(BATCH_SIZE)
    .execute()
}

/** Monitors that left their incidents, were enabled again and still fail. */
export async function returnedMonitors(db: Database, organizationId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('incident_monitors')
    .select('monitor_id')
    .where('organization_id', '=', organizationId)
    .where('returned_at', 'is not', null)
    .orderBy('monitor_id')
    .limit(BATCH_SIZE)
    .execute()
  return rows.map(({ monitor_id }) => monitor_id)
}

/** A monitor that was in the incident before keeps its row and is not counted again. */
export async function insertMemberships(
  db: Database,
  organizationId: string,
  memberships: readonly NewMembership[],
): Promise<void> {
  if (memberships.length === 0) return
  const rows = memberships.map(({ incident, event }) => {
    const first_result: Bool = event.old_state === 'VALID' ? 0 : 1
    return {
      organization_id: organizationId,
      incident_id: incident.id,
      monitor_id: event.monitor_id,
      event_id: event.id,
      new_event_id: event.id,
      failing_since: event.occurred_at,
      new_failing_since: event.occurred_at,
      new_recovered_at: null,
      new_left_at: null,
      first_result,
      new_first_result: first_result,
    }
  })
  const columns = { event_id: 'text', failing_since: 'bigint', first_result: 'bigint' } as const
  const set = { ...columns, recovered_at: 'bigint', left_at: 'bigint' } as const
  const existed = await updateEach(db, { table: 'incident_monitors', key: MEMBERSHIP_KEY, set }, rows)
  const missing = rows.filter((_, index) => !existed[index])
  await insertEach(db, 'incident_monitors', { ...MEMBERSHIP_KEY, ...columns }, missing)
  const changes = rows.map(({ incident_id, monitor_id }, index) => {
    const monitors = existed[index] ? 0 : 1
    return { incident_id, monitors, failing: 1, zones: isZoneId(monitor_id) ? monitors : 0 }
  })
  await addToCounts(db, organizationId, changes)
  await insertEachNew(
    db,
    { table: 'incident_groups', columns: GROUP_KEY, key: ['organization_id', 'group_id', 'incident_id'] },
    memberships.flatMap(({ incident, event: { group_id } }) =>
      group_id === null ? [] : [{ organization_id: organizationId, group_id, incident_id: incident.id }],
    ),
  )
}

/** For monitors whose failure changed, such as from TIMEOUT to NOT_FOUND. */
export async function updateMemberships(
  db: Database,
  organizationId: string,
  changed: readonly (IncidentMembership & { event: FailingEvent })[],
): Promise<void> {
  const rows = changed.map(({ event, ...membership }) => ({
    organization_id: organizationId,
    ...membership,
    new_event_id: event.id,
  }))
  await updateEach(db, { table: 'incident_monitors', key: MEMBERSHIP_KEY, set: { event_id: 'text' } }, rows)
}

/** `zones`: those of the monitors that are zones. */
type CountChange = { incident_id: string; monitors: number; failing: number; zones?: number }

export const isZoneId = (id: string): boolean => id.startsWith('zon_')
export const IS_ZONE = sql<boolean>`substr(incident_monitors.monitor_id, 1, 4) = 'zon_'`

/** Adds to the numbers of monitors and failing monitors of the incidents. */
export async function addToCounts(
  db: Database,
  organizationId: string,
  changes: readonly CountChange[],
): Promise<void> {
  // Sorted, so that concurrent transactions lock the incidents in the same order.
  const rows = [...Map.groupBy(changes, ({ incident_id }) => incident_id)].sort().map(([id, ofIncident]) => ({
    organization_id: organizationId,
    id,
    new_monitors: ofIncident.reduce((sum, { monitors }) => sum + monitors, 0),
    new_zones: ofIncident.reduce((sum, { zones = 0 }) => sum + zones, 0),
    new_failing: ofIncident.reduce((sum, { failing }) => sum + failing, 0),
  }))
  const key = { organization_id: 'text', id: 'text' } as const
  const add = { monitors: 'bigint', failing: 'bigint', zones: 'bigint' } as const
  await updateEach(db, { table: 'incidents', key, add }, rows)
}

/** How many monitors of an incident did not recover, but were disabled, deleted or changed. */
export async function countWithdrawn(db: Database, organizationId: string, incidentId: string): Promise<number> {
  const { count } = await db
    .selectFrom(fromIndex(db, 'incident_monitors', 'left_monitors_of_incident'))
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('organization_id', '=', organizationId)
    .where('incident_id', '=', incidentId)
    .where('left_at', 'is not', null)
    .executeTakeFirstOrThrow()
  return Number(count)
}
