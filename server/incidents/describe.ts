import { type RawBuilder, sql } from 'kysely'
import { causeReasonOf, commonValues } from '#contract/causes.ts'
import type { Incident } from '#contract/incidents.ts'
import type { MonitorState } from '#contract/monitors.ts'
import type { MonitorRecordType } from '#contract/record-types.ts'
import { STATE_LABELS } from '#contract/wording.ts'
import { incidentSubject, remedyOf } from '../alerts/alert-message.ts'
import { firstZones } from '../alerts/first-zones.ts'
import { summaryOf } from '../alerts/incident-summary.ts'
import type { ZoneSummary } from '../alerts/zone-message.ts'
import type { Tenant } from '../context.ts'
import type { Database } from '../database/database.ts'
import { withVersion } from '../database/versions.ts'
import { toDiagnosis } from '../monitors/diagnosis.ts'
import { type IncidentDescription, type IncidentRow, incidentFields } from './incident.ts'

/** Monitors of an incident whose values are compared for its headline. */
const MAX_COMPARED = 100
/** Monitors that an incident names. */
const MAX_NAMED = 3

type Member = {
  incident_id: string
  id: string
  owner: string
  record_type: string
  /** These three are of its last failure in the incident. */
  state: MonitorState
  expected_values: string
  current_values: string | null
}

/** The incidents with what is wrong and what to do. Two statements for all of them, and one for each incident of zones. */
export async function describeIncidents(
  db: Database,
  { organizationId }: Tenant,
  rows: readonly IncidentRow[],
): Promise<Incident[]> {
  const members = Map.groupBy(await listMembers(db, organizationId, rows), ({ incident_id }) => incident_id)
  const firsts = rows.flatMap(({ id, resolved_at }) => (resolved_at === null ? (members.get(id)?.[0] ?? []) : []))
  const diagnoses = await findDiagnoses(db, organizationId, firsts)
  const described: Incident[] = []
  for (const row of rows) {
    const zones = row.zones > 0 && row.resolved_at === null ? await failingZones(db, organizationId, row.id) : []
    const failing = members.get(row.id) ?? []
    const description = describe(row, failing, zones, diagnoses.get(failing[0]?.id ?? ''))
    described.push(withVersion({ ...incidentFields(row), ...description }, row.version))
  }
  return described
}

const failingZones = (db: Database, organization_id: string, incident_id: string) =>
  firstZones(db, { organization_id, incident_id }, sql<boolean>`incident_monitors.recovered_at is null`)

/** The failing monitors of each incident, those that failed first; of a resolved one any of its monitors. */
async function listMembers(db: Database, organizationId: string, rows: readonly IncidentRow[]): Promise<Member[]> {
  if (rows.length === 0) return []
  const selects = rows.map(({ id, resolved_at }): RawBuilder<unknown> => {
    const which =
      resolved_at === null ? sql`and recovered_at is null order by failing_since, monitor_id` : sql`order by monitor_id`
    return sql`select * from (select incident_id, monitor_id, event_id, failing_since from incident_monitors
      where organization_id = ${organizationId} and incident_id = ${id} ${which} limit ${MAX_COMPARED}) as of_incident`
  })
  const ofFailure = (name: string) => sql`case when events.id is null then ${sql.ref(`monitors.${name}`)}
    else ${sql.ref(`events.${name}`)} end as ${sql.ref(name)}`
  const { rows: members } = await sql<Member>`
    select members.incident_id, monitors.id, monitors.owner, monitors.record_type,
        coalesce(events.new_state, monitors.state) as state, ${ofFailure('expected_values')}, ${ofFailure('current_values')}
      from (${sql.join(selects, sql` union all `)}) as members
      join monitors on monitors.organization_id = ${organizationId} and monitors.id = members.monitor_id
      left join events on events.organization_id = ${organizationId} and events.id = members.event_id
      order by members.failing_since, members.monitor_id`.execute(db)
  return members
}

/** Read for one monitor of each incident, because a diagnosis has up to 16 KiB. */
async function findDiagnoses(db: Database, organizationId: string, members: readonly Member[]) {
  if (members.length === 0) return new Map()
  const ids = members.map(({ id }) => id)
  const rows = await db
    .selectFrom('monitors')
    .select(['id', 'diagnosis'])
    .where('organization_id', '=', organizationId)
    .where('id', 'in', ids)
    .execute()
  return new Map(
    rows.flatMap(({ id, diagnosis }) => (diagnosis === null ? [] : [[id, toDiagnosis(diagnosis)] as const])),
  )
}

type FirstDiagnosis = ReturnType<typeof toDiagnosis> | undefined

function describe(
  row: IncidentRow,
  members: readonly Member[],
  zones: readonly ZoneSummary[],
  diagnosis: FirstDiagnosis,
): IncidentDescription {
  const [first] = members
  const named = members.slice(0, MAX_NAMED).map(({ id, owner, record_type, state }) => {
    return { id, name: owner || '.', record_type: record_type as MonitorRecordType, state }
  })
  const [zone] = zones
  const problem = zone?.problems[0]
  if (zone && problem) {
    const isOnly = row.zones === 1
    const headline = isOnly ? problem.text : `${subjectOf(row, members)}: ${problem.text}`
    return { headline, advice: remedyOf({ name: zone.name, advice: problem.advice }, isOnly), first_monitors: named }
  }
  const advice = diagnosis?.advice?.text ?? null
  return {
    headline: headlineOf(row, members, diagnosis),
    advice: first ? remedyOf({ name: first.owner || '.', advice }, row.monitors === 1) : null,
    first_monitors: named,
  }
}

/** A sentence about what fails now. Of a resolved incident, of several states, and of a cause that several domains share: what fails, and how. */
function headlineOf(row: IncidentRow, members: readonly Member[], diagnosis: FirstDiagnosis): string {
  const [first] = members
  const isOneState = new Set(members.map(({ state }) => state)).size === 1
  if (!first || row.resolved_at !== null || row.zones > 0 || row.cause_kind !== 'zone' || !isOneState)
    return `${subjectOf(row, members)}: ${STATE_LABELS[row.state as MonitorState] ?? row.state}`
  const isComplete = row.failing === members.length
  const current = isComplete ? commonValues(members.map(({ current_values }) => current_values)) : undefined
  const expected = isComplete ? commonValues(members.map(({ expected_values }) => expected_values)) : undefined
  const reason = row.failing === 1 ? diagnosis && { ...diagnosis.verdict, text: diagnosis.reason } : undefined
  return causeReasonOf({
    ...{ state: first.state, domain: row.zone, count: row.failing, recordType: first.record_type },
    owner: first.owner || '.',
    ...(current && { current }),
    ...(expected && { expected }),
    ...(reason && { reason }),
  }).text
}

function subjectOf(row: IncidentRow, [first]: readonly Member[]): string {
  const single = row.monitors === 1 && first ? { name: first.owner || '.', recordType: first.record_type } : undefined
  return incidentSubject(summaryOf(row), single)
}
