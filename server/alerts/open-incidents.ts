import type { Selectable } from 'kysely'
import { insertEach, isOneOf } from '../database/bulk.ts'
import { type Database, forUpdate } from '../database/database.ts'
import { fromIndex } from '../database/index-hints.ts'
import type { IncidentsTable } from '../database/schema-alerts.ts'
import { newId } from '../ids.ts'
import { type Cause, type CausingEvent, causesOf } from './cause.ts'
import type { Failure } from './rule.ts'
import { insertEntries } from './timeline.ts'

type IncidentRow = Selectable<IncidentsTable>
type FailingEvent = CausingEvent & { group_id: string; subdomain: string; occurred_at: number }

/** How long an incident takes monitors of other zones: what fails later has a cause of its own, and nobody would be notified. */
const SHARED_MS = 60 * 60_000
/** The open incidents that some events may join, and those that they open. */
export async function openIncidents(db: Database, organizationId: string, events: readonly FailingEvent[]) {
  const causes = new Map(
    events.filter(({ new_state }) => new_state !== 'VALID').map((event) => [event, causesOf(event)]),
  )
  const keys = [...new Set([...causes.values()].flat().map(({ key }) => key))]
  const byCause = await incidentsByCause(db, organizationId, keys)
  const opened: { row: IncidentRow; causes: Cause[]; event: FailingEvent }[] = []
  const shared = new Map<string, Cause>()
  return {
    /** The incident of the first cause that one has; a new one if there is none. */
    join(event: FailingEvent, now: number): IncidentRow {
      const all = causes.get(event)!
      const cause = all.find(({ key, kind }) => {
        const row = byCause.get(key)
        return row && (kind === 'zone' || takesOthers(row, event))
      })
      if (cause) {
        const found = byCause.get(cause.key)!
        if (found.zone !== event.domain && found.cause_kind === 'zone') {
          const common = all.find(({ kind, key }) => kind !== 'zone' && byCause.get(key) === found) ?? cause
          found.cause_kind = common.kind
          shared.set(found.id, common)
        }
        return found
      }
      const row = newIncident(organizationId, event, all[0].key, now)
      opened.push({ row, causes: all, event })
      for (const { key } of all) byCause.set(key, row)
      return row
    },
    async write(db: Database, now: number): Promise<void> {
      await insertEach(
        db,
        'incidents',
        INCIDENT_COLUMNS,
        opened.map(({ row }) => ({ ...row, cause_kind: 'zone' })),
      )
      const latest = new Map(
        opened.flatMap(({ row, causes }) => causes.slice(1).map(({ key }) => [key, row.id] as const)),
      )
      const further = [...latest].map(([cause, incident_id]) => ({
        organization_id: organizationId,
        cause,
        incident_id,
      }))
      // Those of an incident that takes no others, and what a version that does not know of them left.
      await db
        .deleteFrom('incident_causes')
        .where('organization_id', '=', organizationId)
        .where(isOneOf(db, 'cause', [...latest.keys()]))
        .execute()
      await insertEach(db, 'incident_causes', { organization_id: 'text', cause: 'text', incident_id: 'text' }, further)
      for (const [id, { kind, value }] of shared) {
        await db
          .updateTable('incidents')
          .set({ cause_kind: kind, cause_value: value })
          .where('organization_id', '=', organizationId)
          .where('id', '=', id)
          .execute()
      }
      const entries = opened.map(({ row, event }) => {
        const { name, recordType } = failureOf(event)
        return { incidentId: row.id, kind: 'opened' as const, at: row.opened_at, detail: `${name} ${recordType}` }
      })
      await insertEntries(db, organizationId, entries, now)
    },
  }
}

/** Not one that people were notified of an hour ago, or that somebody silenced: what joins it sends no message. */
const takesOthers = (
  { acknowledged_at, snoozed_until, opened_at }: IncidentRow,
  { occurred_at }: FailingEvent,
): boolean =>
  acknowledged_at === null &&
  (snoozed_until === null || snoozed_until <= occurred_at) &&
  occurred_at - opened_at <= SHARED_MS

/** Locked, so that none of them is resolved meanwhile. */
async function incidentsByCause(db: Database, organizationId: string, keys: readonly string[]) {
  const open = (index: string) =>
    db
      .selectFrom(fromIndex(db, 'incidents', index))
      .selectAll('incidents')
      .where('incidents.organization_id', '=', organizationId)
      .where('resolved_at', 'is', null)
  const links = await db
    .selectFrom('incident_causes')
    .select(['cause', 'incident_id'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'cause', keys))
    .execute()
  const linkedIds = [...new Set(links.map(({ incident_id }) => incident_id))]
  const ids = await open('open_incidents')
    .select('incidents.id')
    .where(isOneOf(db, 'incidents.cause', keys))
    .execute()
  const wanted = [...new Set([...ids.map(({ id }) => id), ...linkedIds])]
  const rows = await open('open_incidents_by_id')
    .where(isOneOf(db, 'incidents.id', wanted))
    .orderBy('id')
    .modifyEnd(forUpdate(db))
    .execute()
  const byId = new Map(rows.map((row) => [row.id, row]))
  const byCause = new Map(rows.map((row) => [row.cause, row]))
  for (const { cause, incident_id } of links) {
    const row = byId.get(incident_id)
    if (row) byCause.set(cause, row)
  }
  return byCause
}

const newIncident = (organizationId: string, event: FailingEvent, cause: string, now: number): IncidentRow => ({
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

/** What rules look at, without the tags of the monitor. */
export const failureOf = ({
  group_id,
  subdomain,
  domain,
  record_type,
  new_state,
}: FailingEvent): Omit<Failure, 'tags'> => ({
  groupId: group_id,
  name: subdomain === '' ? domain : `${subdomain}.${domain}`,
  recordType: record_type,
  state: new_state,
})
