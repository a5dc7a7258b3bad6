import type { Selectable } from 'kysely'
import type { EntryKind, IncidentEntry } from '#contract/incidents.ts'
import { monitorsText } from '#contract/wording.ts'
import type { Tenant } from '../context.ts'
import { insertEach } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { listPage, type Page, type PageQuery } from '../database/pagination.ts'
import type { IncidentEntriesTable } from '../database/schema-alerts.ts'
import { getTenantRow } from '../database/tenant-row.ts'
import { newId } from '../ids.ts'
import type { Keyring } from '../keyring.ts'
import { truncate } from '../text.ts'
import { toIso } from '../times.ts'

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
const MAX_DETAIL_LENGTH = 2000

/** Call it in the transaction that changes the incidents. */
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
    detail: detail == null ? null : truncate(detail, MAX_DETAIL_LENGTH),
    alert_id: alertId ?? null,
    channel_id: channelId ?? null,
  }))
  await insertEach(db, 'incident_entries', COLUMNS, rows)
}

/** One entry for each incident and kind, which says how many monitors it is about. */
export const countEntries = (monitors: readonly Pick<NewEntry, 'incidentId' | 'kind'>[]): NewEntry[] =>
  [...Map.groupBy(monitors, ({ incidentId, kind }) => `${incidentId} ${kind}`).values()].map((group) => {
    return { ...group[0]!, detail: monitorsText(group.length) }
  })

/** Throws `not_found`. */
export async function listEntries(
  db: Database,
  keyring: Keyring,
  { organizationId }: Tenant,
  incidentId: string,
  query: PageQuery,
): Promise<Page<IncidentEntry>> {
  await getTenantRow(db, 'incidents', { organizationId }, incidentId)
  const rows = db
    .selectFrom('incident_entries')
    .selectAll('incident_entries')
    .where('incident_entries.organization_id', '=', organizationId)
    .where('incident_entries.incident_id', '=', incidentId)
  const page = await listPage<EntryRow>(rows, {
    keyring,
    query,
    id: 'incident_entries.id',
    orders: { occurred: { column: 'incident_entries.id' } },
    scope: ['incident entries', organizationId, incidentId],
  })
  return { ...page, data: page.data.map(toEntry) }
}

type EntryRow = Selectable<IncidentEntriesTable>

const toEntry = ({ id, occurred_at, kind, actor, detail, alert_id, channel_id }: EntryRow): IncidentEntry => ({
  id,
  occurred: toIso(occurred_at),
  kind,
  actor,
  detail,
  alert_id,
  channel_id,
})
