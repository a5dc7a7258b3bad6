import type { Selectable } from 'kysely'
import type { Alert, AlertInFull, AlertQuery } from '#contract/incidents.ts'
import { recordAudit } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { isOneOf } from '../database/bulk.ts'
import { type Database, forUpdate, inTransaction } from '../database/database.ts'
import type { AlertsTable } from '../database/schema-alerts.ts'
import { getTenantRow } from '../database/tenant-row.ts'
import { listPage, type Page } from '../http/pagination.ts'
import { isoOf } from '../http/times.ts'
import { newId } from '../ids.ts'
import { conflict } from '../problem.ts'
import type { Seal } from '../seal.ts'
import { LONGEST_WAIT_MS } from '../webhooks/retry-schedule.ts'

export type AlertRow = Selectable<AlertsTable>

export type NewAlert = {
  kind: 'failing' | 'recovered'
  incidentId: string
  ruleId: string
  channelId: string
  dueAt: number
  /** 1: only if nobody acknowledged until then. */
  escalated?: number
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
      alerts.map(({ kind, incidentId, ruleId, channelId, dueAt, escalated = 0 }) => ({
        organization_id: organizationId,
        id: newId('alr', now),
        created_at: now,
        kind,
        incident_id: incidentId,
        rule_id: ruleId,
        channel_id: channelId,
        status: 'PENDING' as const,
        next_attempt_at: dueAt,
        escalated: escalated as 0 | 1,
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
  await insertDue(db, organizationId, written, now)
}

/** No row is due farther ahead than a day: what waits longer is judged again then. */
export async function insertDue(
  db: Database,
  organizationId: string,
  alerts: readonly { id: string; next_attempt_at: number | null }[],
  now: number,
): Promise<void> {
  if (alerts.length === 0) return
  await db
    .insertInto('due_alerts')
    .values(
      alerts.map(({ id, next_attempt_at }) => ({
        organization_id: organizationId,
        alert_id: id,
        due_at: next_attempt_at === null ? null : Math.min(next_attempt_at, now + LONGEST_WAIT_MS),
      })),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['organization_id', 'alert_id'])
        .doUpdateSet((set) => ({ due_at: set.ref('excluded.due_at'), claimed_by: null })),
    )
    .execute()
}

/**
 * Before the alerts themselves, as everyone locks who needs both: the incident, when its alerts are due, the alerts, their channel.
 * No attempt begins or is recorded before the caller ends.
 */
export async function lockDue(db: Database, organizationId: string, alertIds: readonly string[]): Promise<void> {
  await db
    .selectFrom('due_alerts')
    .select('alert_id')
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'alert_id', alertIds))
    .orderBy('alert_id')
    .modifyEnd(forUpdate(db))
    .execute()
}

/** Call it for an incident that is locked, when alerts may be wanted that were not before: each of them is judged again, now. */
export async function judgeAgain(db: Database, organizationId: string, incidentId: string, now: number): Promise<void> {
  const alerts = () =>
    db
      .updateTable('alerts')
      .where('organization_id', '=', organizationId)
      .where('incident_id', '=', incidentId)
      .where('kind', '=', 'failing')
  const all = await db
    .selectFrom('alerts')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('incident_id', '=', incidentId)
    .where('kind', '=', 'failing')
    .execute()
  await lockDue(
    db,
    organizationId,
    all.map(({ id }) => id),
  )
  const canceled = await alerts()
    .set({ status: 'PENDING', error: null, next_attempt_at: now })
    .where('status', '=', 'CANCELED')
    .returning('id')
    .execute()
  const sent = await alerts()
    .set({ next_attempt_at: now })
    .where('status', 'in', ['SENT', 'FAILED'])
    .returning('id')
    .execute()
  const rows = [...canceled, ...sent].map(({ id }) => ({ organization_id: organizationId, alert_id: id, due_at: now }))
  if (rows.length === 0) return
  await db
    .insertInto('due_alerts')
    .values(rows)
    .onConflict((conflict) =>
      conflict
        .columns(['organization_id', 'alert_id'])
        .doUpdateSet({ due_at: now })
        // One that is being sent says itself when it is due next.
        .where('due_alerts.claimed_by', 'is', null),
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
    .where(({ or, eb }) =>
      or([eb('alerts.status', 'in', ['RETRYING', 'SENT', 'HELD']), eb('alerts.sent_at', 'is not', null)]),
    )
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

/** `ruleId`: whose digest it is; null for what the limit of the channel leaves. */
type SummaryOf = { organizationId: string; channelId: string; ruleId: string | null; dueAt: number }

/** Alerts of a channel are combined in one message, due at this time. */
export async function ensureSummary(
  db: Database,
  { organizationId, channelId, ruleId, dueAt }: SummaryOf,
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
      digest_rule_id: ruleId,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning(['id', 'next_attempt_at'])
    .execute()
  await insertDue(db, organizationId, written, now)
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
  const row = await getTenantRow(db, 'alerts', tenant, id)
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

/** Sends it again now, whatever its status. Throws 409 for one that is not sent by the queue. */
export async function retryAlert(db: Database, context: RequestContext, id: string): Promise<void> {
  const { organizationId, now } = context
  await inTransaction(db, async (transaction) => {
    await lockDue(transaction, organizationId, [id])
    const row = await getTenantRow(transaction, 'alerts', context, id, forUpdate(transaction))
    if (row.kind === 'test') throw conflict('A test is sent once. Send another one with POST /channels/{channel}/test.')
    if (row.status === 'PENDING' || row.status === 'HELD')
      throw conflict('The alert was not attempted yet. It is sent when it is due.')
    if (row.status === 'CANCELED') throw conflict('The alert was canceled, and has no message.')
    if (await isBeingSent(transaction, row, now))
      throw conflict('The alert is being sent at the moment. Try again in a minute.')
    await transaction
      .updateTable('alerts')
      .set({ status: 'RETRYING', next_attempt_at: now, retry_requested_at: now, progress: null, error: null })
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .execute()
    await insertDue(transaction, organizationId, [{ id, next_attempt_at: now }], now)
    const object = { type: 'channel' as const, id: row.channel_id, label: row.title }
    await recordAudit(transaction, context, { action: 'channel.alert_retried', object })
  })
}

async function isBeingSent(db: Database, { organization_id, id }: AlertRow, now: number): Promise<boolean> {
  const due = await db
    .selectFrom('due_alerts')
    .select(['claimed_by', 'due_at'])
    .where('organization_id', '=', organization_id)
    .where('alert_id', '=', id)
    .executeTakeFirst()
  return due?.claimed_by != null && due.due_at !== null && due.due_at > now
}

const toAlert = (row: AlertRow): Alert => ({
  id: row.id,
  created: isoOf(row.created_at),
  kind: row.information === null ? row.kind : 'information',
  title: row.title,
  status: row.status,
  channel_id: row.channel_id,
  rule_id: row.rule_id,
  incident_id: row.incident_id,
  retries: row.retries,
  sent: row.sent_at === null ? null : isoOf(row.sent_at),
  next_attempt: row.next_attempt_at === null ? null : isoOf(row.next_attempt_at),
  error: row.error,
  is_escalation: row.escalated === 1,
})
