import type { Selectable } from 'kysely'
import type { IncidentEntry } from '#contract/incidents.ts'
import type { Tenant } from '../context.ts'
import { insertEach } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import type { EntryKind, IncidentEntriesTable } from '../database/schema-alerts.ts'
import { listPage, type Page, type PageQuery } from '../http/pagination.ts'
import { isoOf } from '../http/times.ts'
import { newId } from '../ids.ts'
import type { Seal } from '../seal.ts'

export type NewEntry = {
  incidentId: string
  kind: EntryKind
  /** Default: now. */
  at?: number
  actor?: string | null
  detail?: string | null
  alertId?: string
  channelId?: string
}

const COLUMNS = {
  ...({ organization_id: 'text', incident_id: 'text', id: 'text', occurred_at: 'bigint', kind: 'text' } as const),
  ...({ actor: 'text', detail: 'text', alert_id: 'text', channel_id: 'text' } as const),
}
const MOST_CHARACTERS = 2000

/** Adds to the timeline of incidents, in the transaction of what happened. */
export async function insertEntries(
  db: Database,
  organizationId: string,
  entries: readonly NewEntry[],
  now: number,
): Promise<void> {
  const rows = entries.map(({ incidentId, kind, at = now, actor = null, detail = null, alertId, channelId }) => ({
    organization_id: organizationId,
    incident_id: incidentId,
    id: newId('ent', now),
    occurred_at: at,
    kind,
    actor,
    detail: detail?.slice(0, MOST_CHARACTERS) ?? null,
    alert_id: alertId ?? null,
    channel_id: channelId ?? null,
  }))
  await insertEach(db, 'incident_entries', COLUMNS, rows)
}

/** What happened in an incident and who was notified. The caller has looked whether it is the organization's. */
export async function listEntries(
  db: Database,
  seal: Seal,
  { organizationId }: Tenant,
  incidentId: string,
  query: PageQuery,
): Promise<Page<IncidentEntry>> {
  const rows = db
    .selectFrom('incident_entries')
    .selectAll('incident_entries')
    .where('incident_entries.organization_id', '=', organizationId)
    .where('incident_entries.incident_id', '=', incidentId)
  const page = await listPage<Row>(rows as never, {
    seal,
    query,
    id: 'incident_entries.id',
    orders: { occurred: { column: 'incident_entries.id' } },
    scope: ['incident entries', organizationId, incidentId],
  })
  return { ...page, data: page.data.map(toEntry) }
}

type Row = Selectable<IncidentEntriesTable>

const toEntry = ({ id, occurred_at, kind, actor, detail, alert_id, channel_id }: Row): IncidentEntry => ({
  id,
  occurred: isoOf(occurred_at),
  kind,
  actor,
  detail,
  alert_id,
  channel_id,
})
