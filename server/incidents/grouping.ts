import type { Selectable } from 'kysely'
import { recordName } from '#contract/wording.ts'
import type { Failure } from '../alerts/rule-matching.ts'
import { insertEach, isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import { fromIndex } from '../database/index-hints.ts'
import type { IncidentsTable } from '../database/schema-alerts.ts'
import { updateTenantRow } from '../database/tenant-row.ts'
import { newId } from '../ids.ts'
import { MINUTE_MS } from '../times.ts'
import { type Cause, type CausingEvent, causesOf, enclosingZones, type GroupedFailure, recordsOf } from './causes.ts'
import { CANDIDATE_MS, type Candidate, insertCandidates, loadCandidates, loadSharedCauses } from './shared-causes.ts'
import { insertEntries } from './timeline.ts'

type IncidentRow = Selectable<IncidentsTable>
type FailingEvent = CausingEvent & { group_id: string; subdomain: string; occurred_at: number }

/** How long an incident accepts monitors of other zones. Later failures need their own incident, because joining one notifies nobody. */
const ACCEPTS_OTHER_ZONES_MS = 60 * MINUTE_MS
/** People are notified again when a large incident grows. */
const MANY_MONITORS = 20
/** The longest interval is two hours. */
const ACCEPTS_MANY_MS = 150 * MINUTE_MS

/** The open incidents that the failures can join, and the incidents that they open. */
export async function loadIncidentGrouping(db: Database, organizationId: string, failing: readonly GroupedFailure[]) {
  const causesByEvent = new Map(failing.map((failure) => [failure, failure.causes]))
  const causes = [...causesByEvent.values()].flat()
  const keys = [...new Set([...causes.map(({ key }) => key), ...failing.flatMap(({ folds }) => folds)])]
  const circumstantial = new Set(causes.filter(({ isCircumstantial }) => isCircumstantial).map(({ key }) => key))
  const since = Math.min(...failing.map(({ occurred_at }) => occurred_at)) - CANDIDATE_MS
  const candidates = await loadCandidates(db, organizationId, [...circumstantial], since)
  const { byCause, byId } = await lockIncidents(db, organizationId, keys, candidates)
  const shared = await loadSharedCauses(db, organizationId, { causesByEvent, candidates, byId })
  const opened: { row: IncidentRow; causes: Cause[]; event: GroupedFailure }[] = []
  /** By incident, the cause that its monitors in several zones share. */
  const sharedCauses = new Map<string, Cause>()
  return {
    /** Returns the incident of the first cause that has one, or opens an incident. */
    join(event: GroupedFailure, now: number): IncidentRow {
      const { causes, folds } = event
      const folded = folds.flatMap((key) => byCause.get(key) ?? [])[0]
      if (folded) return shared.merged(folded)
      for (const cause of causes) {
        const found = byCause.get(cause.key)
        const incident = found && shared.merged(found)
        if (!incident || (cause.kind !== 'zone' && !acceptsOtherZones(incident, event))) continue
        if (incident.zone !== event.domain && incident.cause_kind === 'zone') {
          const common = causes.find(({ kind, key }) => kind !== 'zone' && byCause.get(key) === found) ?? cause
          incident.cause_kind = common.kind
          sharedCauses.set(incident.id, common)
        }
        return incident
      }
      const row = newIncident(organizationId, event, causes[0].key, now)
      opened.push({ row, causes, event })
      for (const { key, isCircumstantial } of causes) if (!isCircumstantial) byCause.set(key, row)
      const found = shared.add(row, event, causes, (incident) => acceptsOtherZones(incident, event))
      if (!found) return row
      found.incident.cause_kind = found.cause.kind
      sharedCauses.set(found.incident.id, found.cause)
      byCause.set(found.cause.key, found.incident)
      return row
    },
    async write(db: Database, now: number): Promise<void> {
      const rows = opened.map(({ row }) => ({ ...row, cause_kind: 'zone' }))
      await insertEach(db, 'incidents', INCIDENT_COLUMNS, rows)
      // The first cause is in the incident's row.
      const incidentByCause = new Map([
        ...opened.flatMap(({ row, causes }) =>
          causes.slice(1).flatMap(({ key, isCircumstantial }) => (isCircumstantial ? [] : [[key, row.id] as const])),
        ),
        ...shared.found().map(({ cause, incident }) => [cause.key, incident.id] as const),
      ])
      // Rows of incidents that accept no other zones any more, and rows that an older version of the server did not delete.
      await db
        .deleteFrom('incident_causes')
        .where('organization_id', '=', organizationId)
        .where(isOneOf(db, 'cause', [...incidentByCause.keys()]))
        .execute()
      const causeRows = [...incidentByCause].map(([cause, incident_id]) => ({
        organization_id: organizationId,
        cause,
        incident_id,
      }))
      await insertEach(db, 'incident_causes', CAUSE_COLUMNS, causeRows)
      const candidateRows = opened.flatMap(({ row, causes, event }) =>
        causes.flatMap(({ key, isCircumstantial }) =>
          isCircumstantial ? [{ cause: key, failedAt: event.occurred_at, incidentId: row.id }] : [],
        ),
      )
      await insertCandidates(db, organizationId, candidateRows, now)
      for (const [id, { kind, value }] of sharedCauses)
        await updateTenantRow(db, 'incidents', { organizationId }, id, { cause_kind: kind, cause_value: value })
      const entries = opened.map(({ row, event }) => {
        return { incidentId: row.id, kind: 'opened' as const, at: row.opened_at, detail: event.label }
      })
      await insertEntries(db, organizationId, entries, now)
    },
    /** Call it after the monitors and alerts of the incidents were written. */
    merge: (db: Database): Promise<void> => shared.write(db),
    /** The id of the incident into which this one was merged, or its own. */
    idAfterMerge: (id: string): string => shared.idAfterMerge(id),
  }
}

/**
 * False for an incident that people were notified of an hour ago, or that somebody acknowledged or snoozed. Of many monitors, some are
 * checked late: a large incident accepts others until each monitor was checked.
 */
const acceptsOtherZones = (
  { acknowledged_at, snoozed_until, opened_at, monitors }: IncidentRow,
  { occurred_at }: GroupedFailure,
): boolean =>
  acknowledged_at === null &&
  (snoozed_until === null || snoozed_until <= occurred_at) &&
  occurred_at - opened_at <= (monitors >= MANY_MONITORS ? ACCEPTS_MANY_MS : ACCEPTS_OTHER_ZONES_MS)

/** Locked, so that no other transaction resolves them. */
async function lockIncidents(
  db: Database,
  organizationId: string,
  keys: readonly string[],
  candidates: readonly Candidate[],
): Promise<{ byCause: Map<string, IncidentRow>; byId: Map<string, IncidentRow> }> {
  const openRows = (index: string) =>
    db
      .selectFrom(fromIndex(db, 'incidents', index))
      .where('incidents.organization_id', '=', organizationId)
      .where('resolved_at', 'is', null)
  const links = await db
    .selectFrom('incident_causes')
    .select(['cause', 'incident_id'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'cause', keys))
    .execute()
  const direct = await openRows('open_incidents')
    .select('incidents.id')
    .where(isOneOf(db, 'incidents.cause', keys))
    .execute()
  const ids = new Set([
    ...direct.map(({ id }) => id),
    ...links.map(({ incident_id }) => incident_id),
    ...candidates.map(({ incidentId }) => incidentId),
  ])
  const rows = await openRows('open_incidents_by_id')
    .selectAll('incidents')
    .where(isOneOf(db, 'incidents.id', [...ids]))
    .orderBy('id')
    .modifyEnd(forUpdate(db))
    .execute()
  const byId = new Map(rows.map((row) => [row.id, row]))
  const byCause = new Map(rows.map((row) => [row.cause, row]))
  for (const { cause, incident_id } of links) {
    const row = byId.get(incident_id)
    if (row) byCause.set(cause, row)
  }
  return { byCause, byId }
}

const newIncident = (organizationId: string, event: GroupedFailure, cause: string, now: number): IncidentRow => ({
  organization_id: organizationId,
  id: newId('inc', now),
  cause,
  zone: event.domain,
  state: event.new_state,
  opened_at: event.occurred_at,
  resolved_at: null,
  acknowledged_at: null,
  acknowledged_by: null,
  note: null,
  monitors: 0,
  failing: 0,
  zones: 0,
  zone_level: null,
  cause_kind: 'zone',
  cause_value: null,
  assignee_id: null,
  snoozed_until: null,
  version: 1,
})

const INCIDENT_COLUMNS = {
  ...({ organization_id: 'text', id: 'text', cause: 'text', zone: 'text', state: 'text' } as const),
  ...({ opened_at: 'bigint', monitors: 'bigint', failing: 'bigint' } as const),
}
const CAUSE_COLUMNS = { organization_id: 'text', cause: 'text', incident_id: 'text' } as const

/** A failing event as incidents group it. A critical zone explains the failures of all records in it. */
export function groupedFailure(event: FailingEvent): GroupedFailure {
  const { domain, new_state, occurred_at } = event
  const { name, recordType } = failureOf(event)
  const folds = enclosingZones(name).map(recordsOf)
  return { domain, new_state, occurred_at, label: `${name} ${recordType}`, causes: causesOf(event), folds }
}

/** The fields that rules match, except the tags of the monitor. */
export function failureOf(event: FailingEvent): Omit<Failure, 'tags'> {
  const { group_id, subdomain, domain, record_type, new_state } = event
  return {
    groupId: group_id,
    name: recordName({ subdomain, domain }),
    recordType: record_type,
    state: new_state,
  }
}
