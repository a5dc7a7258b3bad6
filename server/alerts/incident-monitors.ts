import type { Selectable } from 'kysely'
import { insertEach, isOneOf, updateEach } from '../database/bulk.ts'
import { type Database, forUpdate } from '../database/database.ts'
import { fromIndex } from '../database/index-hints.ts'
import type { IncidentsTable } from '../database/schema-alerts.ts'
import { updateTenantRow } from '../database/tenant-row.ts'
import { insertRecoveries } from './alert-store.ts'
import { insertEntries } from './incident-timeline.ts'

/** Rows that one transaction reads. */
const BATCH_SIZE = 200

/** A failing monitor and its incident. */
export type IncidentMembership = { monitor_id: string; incident_id: string }
/** `at`: the time of the recovery, if known. */
export type Recovery = IncidentMembership & { at?: number }
type FailingEvent = { id: string; monitor_id: string; occurred_at: number; old_state: string }
export type NewMembership = { incident: Selectable<IncidentsTable>; event: FailingEvent }

const KEY = { organization_id: 'text', incident_id: 'text', monitor_id: 'text' } as const

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
    const first_result = event.old_state === 'VALID' ? 0 : 1
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
  const existed = await updateEach(db, { table: 'incident_monitors', key: KEY, set }, rows)
  const missing = rows.filter((_, index) => !existed[index])
  await insertEach(db, 'incident_monitors', { ...KEY, ...columns }, missing)
  const changes = rows.map(({ incident_id }, index) => ({ incident_id, monitors: existed[index] ? 0 : 1, failing: 1 }))
  await addToCounts(db, organizationId, changes)
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
  await updateEach(db, { table: 'incident_monitors', key: KEY, set: { event_id: 'text' } }, rows)
}

type CountChange = { incident_id: string; monitors: number; failing: number }

async function addToCounts(db: Database, organizationId: string, changes: readonly CountChange[]): Promise<void> {
  // Sorted, so that concurrent transactions lock the incidents in the same order.
  const rows = [...Map.groupBy(changes, ({ incident_id }) => incident_id)].sort().map(([id, ofIncident]) => ({
    organization_id: organizationId,
    id,
    new_monitors: ofIncident.reduce((sum, { monitors }) => sum + monitors, 0),
    new_failing: ofIncident.reduce((sum, { failing }) => sum + failing, 0),
  }))
  const update = {
    table: 'incidents',
    key: { organization_id: 'text', id: 'text' },
    add: { monitors: 'bigint', failing: 'bigint' },
  }
  await updateEach(db, update as never, rows)
}

/** Records recoveries, resolves incidents without a failing monitor, and inserts their recovery alerts. */
export async function recordRecoveries(
  db: Database,
  organizationId: string,
  recoveries: readonly Recovery[],
  now: number,
): Promise<void> {
  if (recoveries.length === 0) return
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
  await updateEach(db, { table: 'incident_monitors', key: KEY, set: { recovered_at: 'bigint' } }, rows)
  const changes = rows.map(({ incident_id }) => ({ incident_id, monitors: 0, failing: -1 }))
  await addToCounts(db, organizationId, changes)
  const ended = await db
    .selectFrom('incidents')
    .select(['id', 'monitors'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'id', [...new Set(rows.map(({ incident_id }) => incident_id))]))
    .where('resolved_at', 'is', null)
    .where('failing', '<=', 0)
    .execute()
  for (const { id, monitors } of ended) {
    const recoveredAt = rows.filter(({ incident_id }) => incident_id === id).map((row) => row.new_recovered_at)
    const at = Math.max(...recoveredAt)
    await updateTenantRow(db, 'incidents', { organizationId }, id, { resolved_at: at })
    await db
      .deleteFrom('incident_causes')
      .where('organization_id', '=', organizationId)
      .where('incident_id', '=', id)
      .execute()
    const isClosed = (await countLeft(db, organizationId, id)) === monitors
    const detail = isClosed ? 'Disabled, deleted or changed' : null
    await insertEntries(db, organizationId, [{ incidentId: id, kind: 'resolved', at, detail }], now)
    await insertRecoveries(db, organizationId, id, now)
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
