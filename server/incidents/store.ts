import type { Updateable } from 'kysely'
import { fieldError } from '#contract/field-errors.ts'
import type { Incident, IncidentAcknowledgements, IncidentChange, IncidentQuery } from '#contract/incidents.ts'
import { makeAlertsDue } from '../alerts/alert-store.ts'
import { recordAudit } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { isOneOf } from '../database/bulk.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import { fromIndex } from '../database/index-hints.ts'
import { listPage, type Page } from '../database/pagination.ts'
import type { IncidentsTable } from '../database/schema-alerts.ts'
import { findTenantRow, getTenantRow, updateTenantRow } from '../database/tenant-row.ts'
import { type Match, nextVersion, refuseStale } from '../database/versions.ts'
import { groupIdOf } from '../groups/resolve.ts'
import type { Keyring } from '../keyring.ts'
import { invalid } from '../problem.ts'
import { DAY_MS, parseTime, parseTimes, toIsoOrNull } from '../times.ts'
import { describeIncidents } from './describe.ts'
import { acknowledgedBy, type IncidentRow, incidentAudit, incidentFields } from './incident.ts'
import { IS_ZONE } from './memberships.ts'
import { insertEntries, type NewEntry } from './timeline.ts'

export async function listIncidents(
  db: Database,
  keyring: Keyring,
  { organizationId }: Tenant,
  query: IncidentQuery,
): Promise<Page<Incident>> {
  const { is_open, state, cause, group, zone_id, monitor_id } = query
  const groupId = group === undefined ? undefined : await groupIdOf(db, { organizationId }, group)
  const { since } = parseTimes(query, ['since'])
  let rows = db
    .selectFrom('incidents')
    .$if(groupId !== undefined, (all) =>
      all.innerJoin('incident_groups', (join) =>
        join
          .onRef('incident_groups.organization_id', '=', 'incidents.organization_id')
          .onRef('incident_groups.incident_id', '=', 'incidents.id')
          .on('incident_groups.group_id', '=', groupId!),
      ),
    )
    .selectAll('incidents')
    .where('incidents.organization_id', '=', organizationId)
  if (zone_id !== undefined) rows = rows.where('incidents.id', 'in', incidentsOfZone(db, organizationId, zone_id))
  if (monitor_id !== undefined)
    rows = rows.where('incidents.id', 'in', incidentOfMonitor(db, organizationId, monitor_id))
  if (is_open !== undefined) rows = rows.where('incidents.resolved_at', is_open ? 'is' : 'is not', null)
  if (state !== undefined) rows = rows.where('incidents.state', '=', state)
  if (cause !== undefined) rows = rows.where('incidents.cause_kind', '=', cause)
  if (since !== undefined) rows = rows.where('incidents.opened_at', '>=', since)
  // The index of the group has them in their order.
  const column = groupId === undefined ? 'incidents.id' : 'incident_groups.incident_id'
  const page = await listPage<IncidentRow>(rows, {
    keyring,
    query,
    id: column,
    orders: { opened: { column } },
    scope: ['incidents', organizationId, is_open, state, cause, since, groupId, zone_id, monitor_id],
  })
  return { ...page, data: await describeIncidents(db, { organizationId }, page.data) }
}

const incidentsOfZone = (db: Database, organizationId: string, zoneId: string) =>
  db
    .selectFrom('incident_monitors')
    .select('incident_id')
    .where('organization_id', '=', organizationId)
    .where('monitor_id', '=', zoneId)
    .where(IS_ZONE)

const incidentOfMonitor = (db: Database, organizationId: string, monitorId: string) =>
  db
    .selectFrom(fromIndex(db, 'incident_monitors', 'failing_monitors'))
    .select('incident_id')
    .where('organization_id', '=', organizationId)
    .where('monitor_id', '=', monitorId)
    .where('recovered_at', 'is', null)

/** The open incidents, at most `limit`: those that nobody acknowledged first, then the largest, then the newest. */
export async function listOpenIncidents(db: Database, tenant: Tenant, limit: number): Promise<Incident[]> {
  const rows = await db
    .selectFrom(fromIndex(db, 'incidents', 'open_incidents_by_id'))
    .selectAll('incidents')
    .where('organization_id', '=', tenant.organizationId)
    .where('resolved_at', 'is', null)
    .orderBy((eb) => eb.case().when('acknowledged_at', 'is', null).then(0).else(1).end())
    .orderBy('failing', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
  return await describeIncidents(db, tenant, rows)
}

/** Throws `not_found`. */
export async function getIncident(db: Database, tenant: Tenant, id: string): Promise<Incident> {
  const [incident] = await describeIncidents(db, tenant, [await getTenantRow(db, 'incidents', tenant, id)])
  return incident!
}

const MAX_SNOOZE_DAYS = 30

/** Throws `not_found`, 412 and 400. */
export async function updateIncident(
  db: Database,
  context: RequestContext,
  id: string,
  { acknowledged, assignee, snoozed_until, note }: IncidentChange,
  match?: Match,
): Promise<Incident> {
  const { organizationId, actor, now } = context
  const snoozedUntil = snoozed_until == null ? snoozed_until : parseSnooze(snoozed_until, now)
  return await inTransaction(db, async (transaction) => {
    const row = await getTenantRow(transaction, 'incidents', context, id, forUpdate(transaction))
    refuseStale(row, match)
    let change: Updateable<IncidentsTable> = {}
    const entries: NewEntry[] = []
    const addEntry = (kind: NewEntry['kind'], detail: string | null = null) =>
      entries.push({ incidentId: id, kind, detail, actor: actor.label })
    if (acknowledged !== undefined && acknowledged !== (row.acknowledged_at !== null)) {
      change = acknowledgedBy(acknowledged ? actor.label : null, now)
      addEntry(acknowledged ? 'acknowledged' : 'unacknowledged')
    }
    if (assignee !== undefined && assignee !== row.assignee_id) {
      change.assignee_id = assignee
      addEntry('assigned', assignee === null ? null : await agentName(transaction, context, assignee))
    }
    if (snoozedUntil !== undefined && snoozedUntil !== row.snoozed_until) {
      change.snoozed_until = snoozedUntil
      addEntry('snoozed', toIsoOrNull(snoozedUntil))
    }
    const newNote = note === '' ? null : note
    if (newNote !== undefined && newNote !== row.note) {
      change.note = newNote
      addEntry('noted', newNote)
    }
    if (entries.length === 0) return await getIncident(transaction, context, id)
    await updateTenantRow(transaction, 'incidents', context, id, { ...change, ...nextVersion })
    await insertEntries(transaction, organizationId, entries, now)
    if (row.resolved_at === null && (acknowledged === false || snoozedUntil !== undefined))
      await makeAlertsDue(transaction, organizationId, id, now)
    const after = await getIncident(transaction, context, id)
    await recordAudit(transaction, context, { ...incidentAudit(row), before: incidentFields(row), after })
    return after
  })
}

/**
 * Acknowledges those that are open and not acknowledged, with an audit entry for each. Returns how many. Throws a 400 that names each
 * unknown id.
 */
export async function acknowledgeIncidents(
  db: Database,
  context: RequestContext,
  { incidents }: IncidentAcknowledgements,
): Promise<number> {
  const { organizationId, actor, now } = context
  return await inTransaction(db, async (transaction) => {
    const rows = await transaction
      .selectFrom('incidents')
      .selectAll()
      .where('organization_id', '=', organizationId)
      .where(isOneOf(transaction, 'id', incidents))
      .orderBy('id')
      .modifyEnd(forUpdate(transaction))
      .execute()
    const known = new Set(rows.map(({ id }) => id))
    const unknown = incidents.flatMap((id, index) =>
      known.has(id) ? [] : [[`incidents.${index}`, fieldError('unknown_reference', { resource: 'incident' })] as const],
    )
    if (unknown.length > 0) throw invalid(Object.fromEntries(unknown))
    const open = rows.filter(({ resolved_at, acknowledged_at }) => resolved_at === null && acknowledged_at === null)
    const change = acknowledgedBy(actor.label, now)
    for (const before of open) {
      await updateTenantRow(transaction, 'incidents', context, before.id, { ...change, ...nextVersion })
      const after = incidentFields({ ...before, ...change, version: before.version + 1 })
      await recordAudit(transaction, context, { ...incidentAudit(before), before: incidentFields(before), after })
    }
    const entries = open.map(({ id }) => ({ incidentId: id, kind: 'acknowledged' as const, actor: actor.label }))
    await insertEntries(transaction, organizationId, entries, now)
    return open.length
  })
}

function parseSnooze(text: string, now: number): number {
  const at = parseTime('snoozed_until', text)
  if (at <= now) throw invalid({ snoozed_until: fieldError('not_in_future') })
  if (at > now + MAX_SNOOZE_DAYS * DAY_MS)
    throw invalid({ snoozed_until: fieldError('too_far_ahead', { days: MAX_SNOOZE_DAYS }) })
  return at
}

async function agentName(db: Database, tenant: Tenant, id: string): Promise<string> {
  const agent = await findTenantRow(db, 'agents', tenant, id)
  if (!agent) throw invalid({ assignee: fieldError('unknown_reference', { resource: 'agent' }) })
  return agent.name || agent.email
}
