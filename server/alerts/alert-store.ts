import { type Selectable, sql } from 'kysely'
import type { Alert, AlertInFull, AlertQuery } from '#contract/incidents.ts'
import { recordAudit } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { type Database, forUpdate, inTransaction } from '../database/database.ts'
import type { AlertsTable } from '../database/schema-alerts.ts'
import { listPage, type Page } from '../http/pagination.ts'
import { isoOf } from '../http/times.ts'
import { newId } from '../ids.ts'
import { conflict, notFound } from '../problem.ts'
import type { Seal } from '../seal.ts'

export type AlertRow = Selectable<AlertsTable>

export type NewAlert = {
  kind: 'failing' | 'recovered'
  incidentId: string
  ruleId: string
  channelId: string
  dueAt: number
}

/**
 * Writes alerts and when they are due, in the transaction of what they are about. An incident, rule and channel have one of each
 * kind; one that was canceled waits again.
 */
export async function insertAlerts(
  db: Database,
  organizationId: string,
  alerts: readonly NewAlert[],
  now: number,
): Promise<void> {
  if (alerts.length === 0) return
  const written = await db
    .insertInto('alerts')
    .values(
      alerts.map(({ kind, incidentId, ruleId, channelId, dueAt }) => ({
        organization_id: organizationId,
        id: newId('alr', now),
        created_at: now,
        kind,
        incident_id: incidentId,
        rule_id: ruleId,
        channel_id: channelId,
        status: 'PENDING' as const,
        next_attempt_at: dueAt,
      })),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['organization_id', 'incident_id', 'rule_id', 'channel_id', 'kind'])
        .where('incident_id', 'is not', null)
        .doUpdateSet((set) => ({
          status: 'PENDING' as const,
          error: null,
          next_attempt_at: set.ref('excluded.next_attempt_at'),
        }))
        .where('alerts.status', '=', 'CANCELED'),
    )
    .returning(['id', 'next_attempt_at'])
    .execute()
  await insertDue(db, organizationId, written)
}

async function insertDue(
  db: Database,
  organizationId: string,
  alerts: readonly { id: string; next_attempt_at: number | null }[],
): Promise<void> {
  if (alerts.length === 0) return
  await db
    .insertInto('due_alerts')
    .values(
      alerts.map(({ id, next_attempt_at }) => ({
        organization_id: organizationId,
        alert_id: id,
        due_at: next_attempt_at,
      })),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['organization_id', 'alert_id'])
        .doUpdateSet((set) => ({ due_at: set.ref('excluded.due_at'), claimed_by: null })),
    )
    .execute()
}

/** Call it for an incident that is resolved and locked: everyone who was alerted, or may have been, is notified. */
export async function recoveredAlerts(
  db: Database,
  organizationId: string,
  incidentId: string,
  now: number,
): Promise<void> {
  const alerted = await db
    .selectFrom('alerts')
    .innerJoin('alert_rules', (join) =>
      join
        .onRef('alert_rules.organization_id', '=', 'alerts.organization_id')
        .onRef('alert_rules.id', '=', 'alerts.rule_id'),
    )
    .select(['alerts.rule_id', 'alerts.channel_id'])
    .where('alerts.organization_id', '=', organizationId)
    .where('alerts.incident_id', '=', incidentId)
    .where('alerts.kind', '=', 'failing')
    .where('alerts.status', 'in', ['RETRYING', 'SENT', 'HELD'])
    .where('alert_rules.notifies_recovery', '=', 1)
    .execute()
  const alerts = alerted.map(({ rule_id, channel_id }) => ({
    kind: 'recovered' as const,
    incidentId,
    ruleId: rule_id!,
    channelId: channel_id,
    dueAt: now,
  }))
  await insertAlerts(db, organizationId, alerts, now)
}

/** The alerts of a channel that reached its limit are combined in one message, due at this time. */
export async function ensureSummary(
  db: Database,
  { organizationId, channelId, dueAt }: { organizationId: string; channelId: string; dueAt: number },
  now: number,
): Promise<void> {
  const id = newId('alr', now)
  const written = await db
    .insertInto('alerts')
    .values({
      organization_id: organizationId,
      id,
      created_at: now,
      kind: 'summary',
      incident_id: null,
      rule_id: null,
      channel_id: channelId,
      status: 'PENDING',
      next_attempt_at: dueAt,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning(['id', 'next_attempt_at'])
    .execute()
  await insertDue(db, organizationId, written)
}

export async function listAlerts(
  db: Database,
  seal: Seal,
  { organizationId }: Tenant,
  query: AlertQuery,
): Promise<Page<Alert>> {
  const { status, channel_id, incident_id } = query
  let rows = db.selectFrom('alerts').selectAll('alerts').where('alerts.organization_id', '=', organizationId)
  if (status !== undefined) rows = rows.where('alerts.status', '=', status)
  if (channel_id !== undefined) rows = rows.where('alerts.channel_id', '=', channel_id)
  if (incident_id !== undefined) rows = rows.where('alerts.incident_id', '=', incident_id)
  const page = await listPage<AlertRow>(rows as never, {
    seal,
    query,
    id: 'alerts.id',
    orders: { created: { column: 'alerts.id' } },
    scope: ['alerts', organizationId, status, channel_id, incident_id],
  })
  return { ...page, data: page.data.map(toAlert) }
}

/** Throws `not_found`, also for another organization's. */
export async function getAlert(db: Database, tenant: Tenant, id: string): Promise<AlertInFull> {
  const { organizationId } = tenant
  const row = await getAlertRow(db, tenant, id)
  const attempts = await db
    .selectFrom('alert_attempts')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('alert_id', '=', id)
    .orderBy('number', 'desc')
    .limit(MOST_ATTEMPTS)
    .execute()
  const log = attempts
    .reverse()
    .map(({ number, attempted_at, status_code, error, request, response_body, total_ms }) => ({
      number,
      attempted: isoOf(attempted_at),
      status_code,
      error,
      request,
      response_body,
      total_ms,
    }))
  return { ...toAlert(row), log }
}

/** Attempts of an alert that are kept. */
export const MOST_ATTEMPTS = 50

/** `lock`: `forUpdate` where the row is read for a change. */
async function getAlertRow(db: Database, { organizationId }: Tenant, id: string, lock = sql``): Promise<AlertRow> {
  const row = await db
    .selectFrom('alerts')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .modifyEnd(lock)
    .executeTakeFirst()
  if (!row) throw notFound()
  return row
}

/** Sends it again now, whatever became of it. Throws 409 for one that is not sent by the queue. */
export async function retryAlert(db: Database, context: RequestContext, id: string): Promise<void> {
  const { organizationId, now } = context
  await inTransaction(db, async (transaction) => {
    const row = await getAlertRow(transaction, context, id, forUpdate(transaction))
    if (row.kind === 'test') throw conflict('A test is sent once. Send another one with POST /channels/{channel}/test.')
    if (row.status === 'PENDING' || row.status === 'HELD')
      throw conflict('The alert was not attempted yet. It is sent when it is due.')
    if (row.status === 'CANCELED') throw conflict('The alert was canceled, and has no message.')
    await transaction
      .updateTable('alerts')
      .set({ status: 'RETRYING', next_attempt_at: now, progress: null, error: null })
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .execute()
    await insertDue(transaction, organizationId, [{ id, next_attempt_at: now }])
    const object = { type: 'channel' as const, id: row.channel_id, label: row.title }
    await recordAudit(transaction, context, { action: 'channel.alert_retried', object })
  })
}

const toAlert = (row: AlertRow): Alert => ({
  id: row.id,
  created: isoOf(row.created_at),
  kind: row.kind,
  title: row.title,
  status: row.status,
  channel_id: row.channel_id,
  rule_id: row.rule_id,
  incident_id: row.incident_id,
  retries: row.retries,
  sent: row.sent_at === null ? null : isoOf(row.sent_at),
  next_attempt: row.next_attempt_at === null ? null : isoOf(row.next_attempt_at),
  error: row.error,
})
