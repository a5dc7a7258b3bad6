import type { Selectable } from 'kysely'
import type { IncidentsTable } from '../database/schema-alerts.ts'
import type { IncidentSummary } from './alert-message.ts'

/** An incident as messages say it. */
export const summaryOf = (row: Selectable<IncidentsTable>): IncidentSummary => ({
  id: row.id,
  zone: row.zone,
  state: row.state,
  openedAt: row.opened_at,
  resolvedAt: row.resolved_at,
  monitors: row.monitors,
  failing: row.failing,
  zones: row.zones,
  causeKind: row.cause_kind,
  causeValue: row.cause_value,
})
