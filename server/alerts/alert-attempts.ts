import { sql, type Updateable } from 'kysely'
import { isOneOf } from '../database/bulk.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import { countWithin } from '../database/hourly-counts.ts'
import type { AlertsTable } from '../database/schema-alerts.ts'
import { findTenantRow, organizationName, updateTenantRow } from '../database/tenant-row.ts'
import { insertEntries } from '../incidents/timeline.ts'
import { type Claim, complete, reschedule } from '../queue/lease-queue.ts'
import { MAX_DELAY_MS, nextRetryAt } from '../retry-schedule.ts'
import { MINUTE_MS } from '../times.ts'
import { type Announced, closesOnRecovery, decideAlert, findFailing } from './alert-decision.ts'
import { GROWTH_PAUSE_MS, hasGrown, hasRisen, makeGrownDue } from './alert-growth.ts'
import type { AlertMessage, MessageContext } from './alert-message.ts'
import {
  type AlertRow,
  channelLimit,
  ensureSummary,
  insertDue,
  insertRecoveries,
  MAX_STORED_ATTEMPTS,
} from './alert-store.ts'
import type { ChannelRow } from './channel.ts'
import { lockDue } from './lock-due.ts'
import type { AttemptResult } from './send-message.ts'
import { heldAlerts } from './summary.ts'

/** `due_alerts` has no later times. An alert that waits longer is decided again then. */
export const MAX_ATTEMPT_DELAY_MS = MAX_DELAY_MS

/** `announced`: what the message says of the incident. */
export type AttemptToMake = {
  alert: AlertRow
  channel: ChannelRow
  message: AlertMessage
  announced?: Announced | undefined
}

export type AttemptOptions = {
  baseUrl: string
  /** 0: no limit. */
  alertsPerHour: number
  hasMailServer: boolean
  acknowledgeLink: (alert: Pick<AlertRow, 'organization_id' | 'id'>) => string
  now: number
}

type AlertClaim = Claim<'due_alerts'>

/** When the rest follows that one summary could not combine. */
const NEXT_SUMMARY_MS = MINUTE_MS

/**
 * Decides what to do with a claimed alert, and counts the attempt before it is made. Returns undefined if nothing is to be sent now;
 * the claim is completed or rescheduled then.
 */
export async function beginAttempt(
  db: Database,
  claim: AlertClaim,
  options: AttemptOptions,
): Promise<AttemptToMake | undefined> {
  return await inTransaction(db, async (transaction) => {
    const { organization_id: organizationId, alert_id: id } = claim
    const { now } = options
    const tenant = { organizationId }
    const lock = forUpdate(transaction)
    await lockDue(transaction, organizationId, [id])
    const alert = await findTenantRow(transaction, 'alerts', tenant, id, lock)
    if (!alert) return void (await complete(transaction, 'due_alerts', [claim]))
    // Locked, so that two alerts to one channel count each other for its limit.
    const channel = await findTenantRow(transaction, 'channels', tenant, alert.channel_id, lock)
    if (channel?.is_active !== 1)
      return await cancel(transaction, claim, alert, 'the channel was deleted or is not active')
    if (channel.type === 'email' && !options.hasMailServer) {
      const reason = 'this server sends no mail: set SMTP_URL and MAIL_FROM'
      await updateTenantRow(transaction, 'channels', tenant, channel.id, { last_error: reason })
      return await cancel(transaction, claim, alert, reason)
    }
    const context = await messageContext(transaction, alert, options)
    const decision = await decideAlert(transaction, alert, channel, context)
    switch (decision.kind) {
      case 'cancel':
        return await cancel(transaction, claim, alert, decision.reason)
      case 'wait':
        return await wait(transaction, claim, alert, decision, now)
      case 'hold':
        return await hold(transaction, claim, alert, decision, now)
      case 'send': {
        const { message, announced } = decision
        // An alert that is exempt counts, but is sent above the limit as well.
        const freeAt = await countWithin(transaction, [channelLimit(alert, options.alertsPerHour)], now)
        if (freeAt !== undefined && !(await isExempt(transaction, alert, channel)))
          return await hold(transaction, claim, alert, { message, announced, ruleId: null, dueAt: freeAt }, now)
        const change = { attempts: sql<number>`attempts + 1`, last_attempt_at: now, title: message.title }
        await updateTenantRow(transaction, 'alerts', tenant, id, change)
        return { alert, channel, message, announced }
      }
    }
  })
}

async function messageContext(
  db: Database,
  alert: AlertRow,
  { baseUrl, acknowledgeLink, now }: AttemptOptions,
): Promise<MessageContext> {
  const { id, sent_at } = alert
  // Mail programs and Matrix show a message id only once, so a repeated alert needs another one.
  const messageId = sent_at === null ? id : `${id}_${sent_at}`
  const organization = await organizationName(db, alert.organization_id)
  return { id, messageId, organization, baseUrl, now, acknowledge: acknowledgeLink(alert) }
}

/**
 * Summaries are exempt, and the recovery of an alert that was a message of its own: there are as few of them as of the messages that
 * were sent. The recoveries of alerts that a summary combined can be many.
 */
async function isExempt(db: Database, alert: AlertRow, channel: ChannelRow): Promise<boolean> {
  if (alert.kind === 'summary') return true
  if (alert.kind !== 'recovered' || alert.information !== null) return false
  return closesOnRecovery(channel) || (await findFailing(db, alert))?.summary_id == null
}

/** An alert that was sent or has failed before keeps that status; only its repetition is canceled. */
async function cancel(
  db: Database,
  claim: AlertClaim,
  { status, sent_at }: AlertRow,
  reason: string,
): Promise<undefined> {
  if ((await complete(db, 'due_alerts', [claim])).length === 0) return
  const canceled = sent_at === null ? { status: 'CANCELED' as const, error: reason } : { status: 'SENT' as const }
  await updateAlert(db, claim, {
    ...(status === 'FAILED' ? {} : canceled),
    next_attempt_at: null,
    retry_requested_at: null,
  })
}

async function wait(
  db: Database,
  claim: AlertClaim,
  { attempts, error }: AlertRow,
  { until, reason }: { until: number; reason?: string },
  now: number,
): Promise<undefined> {
  const dueAt = Math.min(until, now + MAX_ATTEMPT_DELAY_MS)
  if ((await reschedule(db, 'due_alerts', [{ claim, set: { due_at: dueAt } }])).length === 0) return
  // After an attempt, `error` says why it failed.
  await updateAlert(db, claim, { next_attempt_at: until, error: reason ?? (attempts === 0 ? null : error) })
}

/** `ruleId`: of the digest; null if the channel reached its limit. */
type Held = { message: AlertMessage; announced?: Announced | undefined; ruleId: string | null; dueAt: number }

async function hold(
  db: Database,
  claim: AlertClaim,
  { organization_id: organizationId, channel_id: channelId }: AlertRow,
  { message: { title }, announced, ruleId, dueAt }: Held,
  now: number,
): Promise<undefined> {
  if ((await complete(db, 'due_alerts', [claim])).length === 0) return
  await updateAlert(db, claim, {
    status: 'HELD',
    title,
    next_attempt_at: null,
    retry_requested_at: null,
    digest_rule_id: ruleId,
    ...announcedColumns(announced),
  })
  await ensureSummary(db, { organizationId, channelId, ruleId }, dueAt, now)
}

/** Records the result of an attempt, if this process still holds the lease. */
export async function recordAttempt(
  db: Database,
  claim: AlertClaim,
  { alert, channel, message, announced }: AttemptToMake,
  result: AttemptResult,
  now: number,
): Promise<void> {
  const { organization_id: organizationId, id } = alert
  const isRequested = alert.retry_requested_at !== null
  // The retry schedule does not count first attempts, repetitions and requested attempts.
  const isFirst = alert.attempts === 0 || alert.status === 'SENT' || alert.status === 'FAILED'
  const retries = isFirst ? 0 : isRequested ? alert.retries : alert.retries + 1
  const retryAt =
    result.kind === 'retry' && !(isRequested && alert.sent_at !== null)
      ? nextRetryAt({ retries, now, id, retryAfterMs: result.retryAfterMs })
      : null
  const status = result.kind === 'sent' ? 'SENT' : retryAt === null ? 'FAILED' : 'RETRYING'
  await inTransaction(db, async (transaction) => {
    // Locked before the alert, like in the transaction that resolves the incident. So one of the two inserts the recovery.
    const incident = alert.incident_id === null ? undefined : await lockIncident(transaction, alert)
    const isOpen = incident?.resolved_at === null && alert.kind === 'failing'
    const isSentOpen = isOpen && status === 'SENT'
    const isGrown = isSentOpen && hasGrown(announced?.monitors ?? null, incident.monitors)
    const isRisen = isSentOpen && hasRisen(announced?.level ?? null, incident.zone_level)
    const growthAt = isRisen ? now : isGrown ? now + GROWTH_PAUSE_MS : null
    const nextAt = retryAt ?? growthAt ?? (isOpen ? await nextRepetitionAt(transaction, alert, now) : null)
    const dueAt = nextAt === null ? null : Math.min(nextAt, now + MAX_ATTEMPT_DELAY_MS)
    const completed =
      dueAt === null
        ? await complete(transaction, 'due_alerts', [claim])
        : await reschedule(transaction, 'due_alerts', [{ claim, set: { due_at: dueAt } }])
    if (completed.length === 0) return
    await updateAlert(transaction, claim, {
      status,
      retries,
      error: result.error,
      next_attempt_at: nextAt,
      progress: result.progress === undefined || retryAt === null ? null : JSON.stringify(result.progress),
      retry_requested_at: null,
      ...(status === 'SENT' ? { sent_at: now, ...announcedColumns(announced) } : {}),
      reference: alert.reference ?? result.reference ?? null,
    })
    await insertAttempt(transaction, alert, result)
    await updateChannelStatus(transaction, channel, result, now)
    if (incident && status !== 'RETRYING') {
      const outcome =
        status === 'SENT'
          ? { kind: 'sent' as const, detail: message.title }
          : { kind: 'not_sent' as const, detail: result.error }
      const entry = { incidentId: incident.id, alertId: id, channelId: channel.id, actor: channel.name, ...outcome }
      await insertEntries(transaction, organizationId, [entry], now)
    }
    if (alert.kind === 'summary' && status === 'SENT') await releaseHeld(transaction, alert, channel, now)
    if (alert.kind === 'failing' && incident?.resolved_at != null && status === 'SENT')
      await insertRecoveries(transaction, organizationId, incident.id, now)
  })
}

const announcedColumns = (announced: Announced | undefined) =>
  announced === undefined ? {} : { announced_monitors: announced.monitors, announced_level: announced.level }

/** When to send the next message about the incident; null if the rule does not repeat alerts. */
async function nextRepetitionAt(
  db: Database,
  { organization_id, rule_id }: AlertRow,
  now: number,
): Promise<number | null> {
  const rule = await findTenantRow(db, 'alert_rules', { organizationId: organization_id }, rule_id)
  return rule?.repeat_ms == null ? null : now + rule.repeat_ms
}

const lockIncident = (db: Database, { organization_id, incident_id }: AlertRow) =>
  findTenantRow(db, 'incidents', { organizationId: organization_id }, incident_id, forUpdate(db))

/** What the list of channels shows about the last alert. */
export async function updateChannelStatus(
  db: Database,
  { organization_id, id }: Pick<ChannelRow, 'organization_id' | 'id'>,
  { kind, error }: AttemptResult,
  now: number,
): Promise<void> {
  const change = { last_error: error, ...(kind === 'sent' ? { last_sent_at: now } : {}) }
  await updateTenantRow(db, 'channels', { organizationId: organization_id }, id, change)
}

export async function insertAttempt(
  db: Database,
  alert: Pick<AlertRow, 'organization_id' | 'id' | 'attempts'>,
  result: AttemptResult,
): Promise<void> {
  const { organization_id, id: alert_id } = alert
  const number = alert.attempts + 1
  await db
    .insertInto('alert_attempts')
    .values({
      organization_id,
      alert_id,
      number,
      attempted_at: result.at,
      status_code: result.statusCode,
      error: result.error,
      request: result.request,
      response_body: result.response,
      total_ms: Math.round(result.totalMs),
    })
    .onConflict((conflict) => conflict.columns(['organization_id', 'alert_id', 'number']).doNothing())
    .execute()
  await db
    .deleteFrom('alert_attempts')
    .where('organization_id', '=', organization_id)
    .where('alert_id', '=', alert_id)
    .where('number', '<=', number - MAX_STORED_ATTEMPTS)
    .execute()
}

/** Marks the alerts of a sent summary as sent. Alerts that were held since, or did not fit, are in the next summary. */
async function releaseHeld(db: Database, summary: AlertRow, channel: ChannelRow, now: number): Promise<void> {
  const { organization_id: organizationId, channel_id: channelId, id, digest_rule_id: ruleId } = summary
  const released = await db
    .updateTable('alerts')
    .set({ status: 'SENT', sent_at: now })
    .where('organization_id', '=', organizationId)
    .where('channel_id', '=', channelId)
    .where('status', '=', 'HELD')
    .where('summary_id', '=', id)
    .returning(['id', 'kind', 'incident_id', 'rule_id', 'title'])
    .execute()
  const entries = released.flatMap(({ id: alertId, incident_id: incidentId, title: detail }) =>
    incidentId === null ? [] : [{ incidentId, kind: 'sent' as const, alertId, channelId, actor: channel.name, detail }],
  )
  await insertEntries(db, organizationId, entries, now)
  await scheduleRepetitions(db, organizationId, released, now)
  await makeGrownDue(
    db,
    organizationId,
    released.flatMap(({ kind, incident_id }) => (kind === 'failing' && incident_id !== null ? [incident_id] : [])),
    now,
  )
  if ((await heldAlerts(db, summary, 1)).length > 0)
    await ensureSummary(db, { organizationId, channelId, ruleId }, now + NEXT_SUMMARY_MS, now)
}

/** Decides again about released alerts when their rules repeat them. */
async function scheduleRepetitions(
  db: Database,
  organizationId: string,
  released: readonly Pick<AlertRow, 'id' | 'kind' | 'rule_id'>[],
  now: number,
): Promise<void> {
  const failing = released.filter(({ kind }) => kind === 'failing')
  const ruleIds = [...new Set(failing.map(({ rule_id }) => rule_id!))]
  const rules = await db
    .selectFrom('alert_rules')
    .select(['id', 'repeat_ms'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'id', ruleIds))
    .where('repeat_ms', 'is not', null)
    .execute()
  for (const { id: ruleId, repeat_ms } of rules) {
    const ids = failing.filter(({ rule_id }) => rule_id === ruleId).map(({ id }) => id)
    const due = await db
      .updateTable('alerts')
      .set({ next_attempt_at: now + repeat_ms! })
      .where('organization_id', '=', organizationId)
      .where(isOneOf(db, 'id', ids))
      .returning(['id', 'next_attempt_at'])
      .execute()
    await insertDue(db, organizationId, due, now)
  }
}

const updateAlert = (db: Database, claim: AlertClaim, change: Updateable<AlertsTable>): Promise<void> =>
  updateTenantRow(db, 'alerts', { organizationId: claim.organization_id }, claim.alert_id, change)
