import { type Selectable, sql } from 'kysely'
import type { Alert, AlertInFull, AlertQuery } from '#contract/incidents.ts'
import { recordAudit } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { isOneOf } from '../database/bulk.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import { fullUntil, type HourlyLimit } from '../database/hourly-counts.ts'
import { listPage, type Page } from '../database/pagination.ts'
import type { AlertsTable } from '../database/schema-alerts.ts'
import { getTenantRow, updateTenantRow } from '../database/tenant-row.ts'
import { newId } from '../ids.ts'
import type { Keyring } from '../keyring.ts'
import { conflict, Problem } from '../problem.ts'
import { MAX_DELAY_MS } from '../retry-schedule.ts'
import { toIso, toIsoOrNull } from '../times.ts'
import { lockDue } from './lock-due.ts'

export type AlertRow = Selectable<AlertsTable>

export type NewAlert = {
  kind: 'failing' | 'recovered'
  incidentId: string
  ruleId: string
  channelId: string
  dueAt: number
  /** 1: sent only if nobody acknowledged by then. */
  escalated?: 0 | 1
}

/**
 * Call it in the transaction that changes the incident. An incident, rule and channel have at most one alert of each kind; an
 * existing alert that was canceled becomes pending again.
 */
export async function insertAlerts(
  db: Database,
  organizationId: string,
  alerts: readonly NewAlert[],
  now: number,
): Promise<void> {
  if (alerts.length === 0) return
  const inserted = await db
    .insertInto('alerts')
    .values(
      alerts.map(({ kind, incidentId, ruleId, channelId, dueAt, escalated = 0 }) => ({
        ...newPendingAlert({ organizationId, channelId, dueAt }, now),
        ...{ kind, incident_id: incidentId, rule_id: ruleId, escalated },
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
  await insertDue(db, organizationId, inserted, now)
}

/** The columns that every alert has that waits to be sent. */
export function newPendingAlert(
  { organizationId, channelId, dueAt }: Tenant & Pick<NewAlert, 'channelId' | 'dueAt'>,
  now: number,
) {
  return {
    ...{ organization_id: organizationId, id: newId('alr', now), created_at: now, channel_id: channelId },
    ...{ status: 'PENDING' as const, next_attempt_at: dueAt },
  }
}

/** Rows are due within a day at the latest: an alert that waits longer is decided again then. */
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
        channel_id: channelOf(organizationId, id),
        due_at: next_attempt_at === null ? null : Math.min(next_attempt_at, now + MAX_DELAY_MS),
      })),
    )
    .onConflict((conflict) =>
      conflict
        .columns(['organization_id', 'alert_id'])
        .doUpdateSet((set) => ({ due_at: set.ref('excluded.due_at'), claimed_by: null })),
    )
    .execute()
}

const channelOf = (organizationId: string, alertId: string) =>
  sql<string>`(select channel_id from alerts where organization_id = ${organizationId} and id = ${alertId})`

/** Makes all failing alerts of an incident due, so that they are decided again. The incident must be locked. */
export async function makeAlertsDue(
  db: Database,
  organizationId: string,
  incidentId: string,
  now: number,
): Promise<void> {
  const alerts = await db
    .selectFrom('alerts')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('incident_id', '=', incidentId)
    .where('kind', '=', 'failing')
    .execute()
  const ids = alerts.map(({ id }) => id)
  await lockDue(db, organizationId, ids)
  const update = db
    .updateTable('alerts')
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'id', ids))
    .returning('id')
  const canceled = await update
    .set({ status: 'PENDING', error: null, next_attempt_at: now })
    .where('status', '=', 'CANCELED')
    .execute()
  const sent = await update.set({ next_attempt_at: now }).where('status', 'in', ['SENT', 'FAILED']).execute()
  const rows = [...canceled, ...sent].map(({ id }) => ({
    ...{ organization_id: organizationId, alert_id: id, due_at: now },
    channel_id: channelOf(organizationId, id),
  }))
  if (rows.length === 0) return
  await db
    .insertInto('due_alerts')
    .values(rows)
    .onConflict((conflict) =>
      conflict
        .columns(['organization_id', 'alert_id'])
        .doUpdateSet({ due_at: now })
        // An alert that is being sent becomes due when its attempt is recorded.
        .where('due_alerts.claimed_by', 'is', null),
    )
    .execute()
}

/** Inserts a recovery for every rule and channel that was alerted, or may have been. The incident must be resolved and locked. */
export async function insertRecoveries(
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
    .select(['alert_rules.id as ruleId', 'alerts.channel_id as channelId'])
    .where('alerts.organization_id', '=', organizationId)
    .where('alerts.incident_id', '=', incidentId)
    .where('alerts.kind', '=', 'failing')
    .where(({ or, eb }) =>
      or([eb('alerts.status', 'in', ['RETRYING', 'SENT', 'HELD']), eb('alerts.sent_at', 'is not', null)]),
    )
    .where('alert_rules.notifies_recovery', '=', 1)
    .execute()
  const recoveries = alerted.map((alert) => ({ ...alert, kind: 'recovered' as const, incidentId, dueAt: now }))
  await insertAlerts(db, organizationId, recoveries, now)
}

type SummaryKey = { organizationId: string; channelId: string; ruleId: string | null }

/** Inserts the summary of a channel's held alerts, unless it exists. `ruleId`: of a digest; null for alerts over the channel's limit. */
export async function ensureSummary(
  db: Database,
  { organizationId, channelId, ruleId }: SummaryKey,
  dueAt: number,
  now: number,
): Promise<void> {
  const inserted = await db
    .insertInto('alerts')
    .values({
      ...newPendingAlert({ organizationId, channelId, dueAt }, now),
      ...{ kind: 'summary', digest_rule_id: ruleId },
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning(['id', 'next_attempt_at'])
    .execute()
  // A summary of information must not delay a failure that could be sent earlier.
  const earlier =
    inserted.length > 0
      ? inserted
      : await db
          .updateTable('alerts')
          .set({ next_attempt_at: dueAt })
          .where('organization_id', '=', organizationId)
          .where('channel_id', '=', channelId)
          .where('digest_rule_id', ruleId === null ? 'is' : '=', ruleId)
          .where('kind', '=', 'summary')
          .where('status', '=', 'PENDING')
          .where('next_attempt_at', '>', dueAt)
          .returning(['id', 'next_attempt_at'])
          .execute()
  await insertDue(db, organizationId, earlier, now)
}

export async function listAlerts(
  db: Database,
  keyring: Keyring,
  { organizationId }: Tenant,
  query: AlertQuery,
): Promise<Page<Alert>> {
  const { status, channel_id, incident_id } = query
  let rows = db.selectFrom('alerts').selectAll('alerts').where('alerts.organization_id', '=', organizationId)
  if (status !== undefined) rows = rows.where('alerts.status', '=', status)
  if (channel_id !== undefined) rows = rows.where('alerts.channel_id', '=', channel_id)
  if (incident_id !== undefined) rows = rows.where('alerts.incident_id', '=', incident_id)
  const page = await listPage<AlertRow>(rows, {
    keyring,
    query,
    id: 'alerts.id',
    orders: { created: { column: 'alerts.id' } },
    scope: ['alerts', organizationId, status, channel_id, incident_id],
  })
  return { ...page, data: page.data.map(toAlert) }
}

/** Throws `not_found`. */
export async function getAlert(db: Database, tenant: Tenant, id: string): Promise<AlertInFull> {
  const row = await getTenantRow(db, 'alerts', tenant, id)
  const attempts = await db
    .selectFrom('alert_attempts')
    .select(['number', 'attempted_at', 'status_code', 'error', 'request', 'response_body', 'total_ms'])
    .where('organization_id', '=', tenant.organizationId)
    .where('alert_id', '=', id)
    .orderBy('number', 'desc')
    .limit(MAX_STORED_ATTEMPTS)
    .execute()
  const log = attempts.reverse().map(({ attempted_at, ...attempt }) => ({
    ...attempt,
    attempted: toIso(attempted_at),
  }))
  return { ...toAlert(row), log }
}

/** Attempts stored for each alert. */
export const MAX_STORED_ATTEMPTS = 50

/**
 * The limit of a channel counts attempts: retries, repetitions and tests too, also those that failed. Failures, recoveries and
 * information have a limit each, so that none of them holds a failure.
 */
export function channelLimit(
  alert: Pick<AlertRow, 'organization_id' | 'channel_id'> & Partial<Pick<AlertRow, 'kind' | 'information'>>,
  alertsPerHour: number,
): HourlyLimit {
  const { organization_id, channel_id, kind, information = null } = alert
  const things = information !== null ? 'information' : kind === 'recovered' ? 'recoveries' : 'alerts'
  return { subject: `${things} of ${organization_id} to ${channel_id}`, limit: alertsPerHour }
}

export const channelFull = (alertsPerHour: number): Problem =>
  new Problem(
    429,
    `The channel reached its limit of ${alertsPerHour} alerts per hour. Try again later, or ask the operator to raise ALERTS_PER_HOUR.`,
  )

/**
 * Makes the alert due now. Throws 409 for an alert that the worker did not send before, or is sending, and 429 at the channel's limit.
 */
export async function retryAlert(
  db: Database,
  context: RequestContext,
  id: string,
  { alertsPerHour }: { alertsPerHour: number },
): Promise<void> {
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
    const isFull = (await fullUntil(transaction, channelLimit(row, alertsPerHour), now)) !== undefined
    if (isFull) throw channelFull(alertsPerHour)
    const change = {
      status: 'RETRYING' as const,
      next_attempt_at: now,
      retry_requested_at: now,
      progress: null,
      error: null,
    }
    await updateTenantRow(transaction, 'alerts', context, id, change)
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
  created: toIso(row.created_at),
  kind: row.information === null ? row.kind : 'information',
  title: row.title,
  status: row.status,
  channel_id: row.channel_id,
  rule_id: row.rule_id,
  incident_id: row.incident_id,
  retries: row.retries,
  sent: toIsoOrNull(row.sent_at),
  next_attempt: toIsoOrNull(row.next_attempt_at),
  error: row.error,
  is_escalation: row.escalated === 1,
})
