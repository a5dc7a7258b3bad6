import { type Selectable, sql } from 'kysely'
import type { Incident, IncidentChange, IncidentQuery } from '#contract/incidents.ts'
import type { MonitorState } from '#contract/monitors.ts'
import { recordAudit } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { type Database, forUpdate, inTransaction } from '../database/database.ts'
import type { IncidentsTable } from '../database/schema-alerts.ts'
import { type Match, nextVersion, refuseStale, withVersion } from '../database/versions.ts'
import { listPage, type Page } from '../http/pagination.ts'
import { isoOf } from '../http/times.ts'
import { notFound } from '../problem.ts'
import type { Seal } from '../seal.ts'

type IncidentRow = Selectable<IncidentsTable>

export async function listIncidents(
  db: Database,
  seal: Seal,
  { organizationId }: Tenant,
  query: IncidentQuery,
): Promise<Page<Incident>> {
  const { is_open } = query
  let rows = db.selectFrom('incidents').selectAll('incidents').where('incidents.organization_id', '=', organizationId)
  if (is_open !== undefined) rows = rows.where('incidents.resolved_at', is_open ? 'is' : 'is not', null)
  const page = await listPage<IncidentRow>(rows as never, {
    seal,
    query,
    id: 'incidents.id',
    orders: { opened: { column: 'incidents.id' } },
    scope: ['incidents', organizationId, is_open],
  })
  return { ...page, data: page.data.map(toIncident) }
}

/** Throws `not_found`, also for another organization's. */
export async function getIncident(db: Database, tenant: Tenant, id: string): Promise<Incident> {
  return toIncident(await getIncidentRow(db, tenant, id))
}

/** `lock`: `forUpdate` where the row is read for a change. */
async function getIncidentRow(
  db: Database,
  { organizationId }: Tenant,
  id: string,
  lock = sql``,
): Promise<IncidentRow> {
  const row = await db
    .selectFrom('incidents')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .modifyEnd(lock)
    .executeTakeFirst()
  if (!row) throw notFound()
  return row
}

/** Throws `not_found` and 412. */
export async function updateIncident(
  db: Database,
  context: RequestContext,
  id: string,
  { acknowledged, note }: IncidentChange,
  match?: Match,
): Promise<Incident> {
  const { organizationId, actor, now } = context
  return await inTransaction(db, async (transaction) => {
    const row = await getIncidentRow(transaction, context, id, forUpdate(transaction))
    refuseStale(row, match)
    const isNew = acknowledged !== undefined && acknowledged !== (row.acknowledged_at !== null)
    const set = {
      ...(isNew
        ? { acknowledged_at: acknowledged ? now : null, acknowledged_by: acknowledged ? actor.label : null }
        : {}),
      ...(note === undefined ? {} : { note: note === '' ? null : note }),
    }
    await transaction
      .updateTable('incidents')
      .set({ ...set, ...nextVersion })
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .execute()
    const after = await getIncident(transaction, context, id)
    const object = { id, label: `${row.zone}: ${row.state}` }
    await recordAudit(transaction, context, { action: 'incident.updated', object, before: toIncident(row), after })
    return after
  })
}

const toIncident = (row: IncidentRow): Incident =>
  withVersion(
    {
      id: row.id,
      zone: row.zone,
      state: row.state as MonitorState,
      opened: isoOf(row.opened_at),
      resolved: row.resolved_at === null ? null : isoOf(row.resolved_at),
      monitors: row.monitors,
      failing: row.failing,
      acknowledged: row.acknowledged_at === null ? null : isoOf(row.acknowledged_at),
      acknowledged_by: row.acknowledged_by,
      note: row.note,
    },
    row.version,
  )
