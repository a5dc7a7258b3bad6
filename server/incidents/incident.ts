import type { Selectable } from 'kysely'
import type { Incident, IncidentState } from '#contract/incidents.ts'
import type { IncidentsTable } from '../database/schema-alerts.ts'
import { toIso, toIsoOrNull } from '../times.ts'

export type IncidentRow = Selectable<IncidentsTable>
/** What is computed from the monitors of an incident. */
export type IncidentDescription = Pick<Incident, 'headline' | 'advice' | 'first_monitors'>

export const acknowledgedBy = (label: string | null, now: number) => ({
  acknowledged_at: label === null ? null : now,
  acknowledged_by: label,
})

export const incidentAudit = ({ id, zone, state }: Pick<IncidentRow, 'id' | 'zone' | 'state'>) => ({
  action: 'incident.updated' as const,
  object: { id, label: `${zone}: ${state}` },
})

/** What is stored of an incident, in the form of the API. */
export const incidentFields = (row: IncidentRow): Omit<Incident, keyof IncidentDescription> => ({
  id: row.id,
  zone: row.zone,
  state: row.state as IncidentState,
  cause: row.cause_kind,
  cause_value: row.cause_value,
  opened: toIso(row.opened_at),
  resolved: toIsoOrNull(row.resolved_at),
  monitors: row.monitors,
  failing: row.failing,
  zones: row.zones,
  acknowledged: toIsoOrNull(row.acknowledged_at),
  acknowledged_by: row.acknowledged_by,
  assignee: row.assignee_id,
  snoozed_until: toIsoOrNull(row.snoozed_until),
  note: row.note,
})
