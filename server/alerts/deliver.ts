import { sql } from 'kysely'
import type { ChannelType } from '#contract/alerts.ts'
import { textOf } from '#contract/reasons.ts'
import { isOneOf } from '../database/bulk.ts'
import { type Database, forUpdate, inTransaction } from '../database/database.ts'
import { type Claim, complete, reschedule } from '../database/lease-queue.ts'
import { LONGEST_WAIT_MS, nextAttemptAt } from '../webhooks/retry-schedule.ts'
import { type AlertRow, ensureSummary, MOST_ATTEMPTS, recoveredAlerts } from './alert-store.ts'
import type { AttemptResult } from './attempt.ts'
import type { ChannelRow } from './channel.ts'
import { MEDIA } from './channels/channels.ts'
import { type Notice, type NoticedMonitor, noticeOfIncident, summaryNotice } from './notice.ts'
import { whereMatches } from './rule.ts'

const HOUR_MS = 60 * 60_000
const MOST_SHOWN = 5
const MOST_TITLES = 20
/** Held alerts that one summary takes. */
const MOST_HELD = 1000

/** Rows of `due_alerts` are due at most this far ahead: a rule may wait a day. */
export const LONGEST_DUE_MS = LONGEST_WAIT_MS

export type Sendable = { alert: AlertRow; channel: ChannelRow; notice: Notice }
export type Beginning = { baseUrl: string; alertsPerHour: number; now: number }
type Due = Claim<'due_alerts'>

/**
 * Decides what becomes of a claimed alert, and notes that an attempt is made before it is made. Undefined: nothing is to be sent
 * now, and the claim is completed or has another time.
 */
export async function beginAttempt(db: Database, claim: Due, options: Beginning): Promise<Sendable | undefined> {
  return await inTransaction(db, async (transaction) => {
    const { organization_id: organizationId, alert_id: id } = claim
    const alert = await alertRow(transaction, organizationId, id)
    if (!alert) return void (await complete(transaction, 'due_alerts', [claim]))
    // Locked, so that of two alerts of one channel the second counts the first.
    const channel = await channelRow(transaction, organizationId, alert.channel_id)
    if (channel?.is_active !== 1) return await cancel(transaction, claim, 'the channel was deleted or is not active')
    const made = await noticeOf(transaction, alert, options)
    if (made.kind === 'cancel') return await cancel(transaction, claim, made.reason)
    if (made.kind === 'wait') return await wait(transaction, claim, made.until)
    const freeAt = isLimited(alert, channel) ? await limitedUntil(transaction, alert, options) : null
    if (freeAt !== null)
      return await hold(transaction, claim, { alert, title: made.notice.title, dueAt: freeAt }, options.now)
    await noteAttempt(transaction, alert, made.notice.title, options.now)
    return { alert, channel, notice: made.notice }
  })
}

/** A summary is what the limit leaves. Where a recovery closes what was opened, it is as bounded as that. */
const isLimited = ({ kind }: AlertRow, { type }: ChannelRow): boolean => {
  const medium = MEDIA[type as ChannelType]
  return kind !== 'summary' && !(kind === 'recovered' && 'resolves' in medium)
}

async function noteAttempt(db: Database, { organization_id, id }: AlertRow, title: string, now: number): Promise<void> {
  await db
    .updateTable('alerts')
    .set({ attempts: sql<number>`attempts + 1`, last_attempt_at: now, title })
    .where('organization_id', '=', organization_id)
    .where('id', '=', id)
    .execute()
}

type Made = { kind: 'send'; notice: Notice } | { kind: 'cancel'; reason: string } | { kind: 'wait'; until: number }

async function noticeOf(db: Database, alert: AlertRow, { baseUrl, now }: Beginning): Promise<Made> {
  const { organization_id: organizationId, id } = alert
  const { name } = await db
    .selectFrom('organizations')
    .select('name')
    .where('id', '=', organizationId)
    .executeTakeFirstOrThrow()
  const common = { id, organization: name, baseUrl, now }
  if (alert.kind === 'summary') {
    const held = await heldAlerts(db, alert)
    await db
      .updateTable('alerts')
      .set({ summary_id: id })
      .where('organization_id', '=', organizationId)
      .where(
        isOneOf(
          db,
          'id',
          held.map((one) => one.id),
        ),
      )
      .execute()
    const titles = held.slice(0, MOST_TITLES).map(({ title }) => title ?? '')
    if (held.length > 0) return { kind: 'send', notice: summaryNotice(titles, held.length, common) }
    return { kind: 'cancel', reason: 'no alerts are held' }
  }
  const incident = await db
    .selectFrom('incidents')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('id', '=', alert.incident_id)
    .executeTakeFirst()
  const rule = await db
    .selectFrom('alert_rules')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('id', '=', alert.rule_id)
    .executeTakeFirst()
  if (!incident || !rule) return { kind: 'cancel', reason: 'the alert rule was deleted' }
  const noticed = {
    id: incident.id,
    zone: incident.zone,
    state: incident.state,
    openedAt: incident.opened_at,
    resolvedAt: incident.resolved_at,
    monitors: incident.monitors,
    failing: incident.failing,
  }
  const isRepeated = alert.sent_at !== null // a person asked for it
  if (alert.kind === 'recovered') {
    const monitors = await monitorsOf(db, alert, sql`1 = 1`)
    return { kind: 'send', notice: noticeOfIncident('recovered', noticed, monitors, common) }
  }
  if (isRepeated) {
    return {
      kind: 'send',
      notice: noticeOfIncident('failing', noticed, await monitorsOf(db, alert, whereMatches(rule)), common),
    }
  }
  if (rule.is_active === 0) return { kind: 'cancel', reason: 'the alert rule is not active' }
  if (incident.resolved_at !== null) return { kind: 'cancel', reason: 'the monitors recovered before it was sent' }
  if (incident.acknowledged_at !== null)
    return { kind: 'cancel', reason: 'the incident was acknowledged before it was sent' }
  const failing = await monitorsOf(db, alert, sql`${whereMatches(rule)} and incident_monitors.recovered_at is null`)
  if (failing.length === 0) return { kind: 'cancel', reason: 'the monitors of the rule recovered before it was sent' }
  const dueAt = failing[0]!.failingSince + rule.delay_ms
  if (dueAt > now) return { kind: 'wait', until: dueAt }
  return { kind: 'send', notice: noticeOfIncident('failing', noticed, failing, common) }
}

/** The first few, longest failing first. Their values are those of their last failure. */
async function monitorsOf(
  db: Database,
  alert: AlertRow,
  where: ReturnType<typeof sql>,
): Promise<(NoticedMonitor & { failingSince: number })[]> {
  const rows = await db
    .selectFrom('incident_monitors')
    .innerJoin('monitors', (join) =>
      join
        .onRef('monitors.organization_id', '=', 'incident_monitors.organization_id')
        .onRef('monitors.id', '=', 'incident_monitors.monitor_id'),
    )
    .innerJoin('events', (join) =>
      join
        .onRef('events.organization_id', '=', 'incident_monitors.organization_id')
        .onRef('events.id', '=', 'incident_monitors.event_id'),
    )
    .select(['monitors.id', 'monitors.owner', 'incident_monitors.failing_since'])
    .select(['events.record_type', 'events.expected_values', 'events.current_values', 'events.diagnosis'])
    .where('incident_monitors.organization_id', '=', alert.organization_id)
    .where('incident_monitors.incident_id', '=', alert.incident_id!)
    .where(where as never)
    .orderBy('incident_monitors.failing_since')
    .limit(MOST_SHOWN)
    .execute()
  return rows.map((row) => ({
    id: row.id,
    name: row.owner,
    recordType: row.record_type,
    expected: JSON.parse(row.expected_values),
    found: row.current_values === null ? null : JSON.parse(row.current_values),
    cause: causeOf(row.diagnosis),
    failingSince: row.failing_since,
  }))
}

function causeOf(diagnosis: string | null): string | null {
  const verdict = diagnosis === null ? undefined : JSON.parse(diagnosis).verdict
  return verdict === undefined ? null : textOf(verdict)
}

/** When the channel may be sent something again; null: now. Attempts count, so that what it receives is never more. */
export async function limitedUntil(
  db: Database,
  alert: Pick<AlertRow, 'organization_id' | 'channel_id'>,
  { alertsPerHour, now }: Omit<Beginning, 'baseUrl'>,
): Promise<number | null> {
  if (alertsPerHour === 0) return null
  const latest = await db
    .selectFrom('alerts')
    .select('last_attempt_at')
    .where('organization_id', '=', alert.organization_id)
    .where('channel_id', '=', alert.channel_id)
    .where('last_attempt_at', '>', now - HOUR_MS)
    .orderBy('last_attempt_at', 'desc')
    .limit(alertsPerHour)
    .execute()
  return latest.length < alertsPerHour ? null : latest.at(-1)!.last_attempt_at! + HOUR_MS
}

async function cancel(db: Database, claim: Due, reason: string): Promise<undefined> {
  if ((await complete(db, 'due_alerts', [claim])).length === 0) return
  await setAlert(db, claim, { status: 'CANCELED', error: reason, next_attempt_at: null })
}

async function wait(db: Database, claim: Due, until: number): Promise<undefined> {
  if ((await reschedule(db, 'due_alerts', [{ claim, set: { due_at: until } }])).length === 0) return
  await setAlert(db, claim, { next_attempt_at: until })
}

type Held = { alert: AlertRow; title: string; dueAt: number }

async function hold(db: Database, claim: Due, { alert, title, dueAt }: Held, now: number): Promise<undefined> {
  if ((await complete(db, 'due_alerts', [claim])).length === 0) return
  await setAlert(db, claim, { status: 'HELD', title, next_attempt_at: null })
  await ensureSummary(db, { organizationId: alert.organization_id, channelId: alert.channel_id, dueAt }, now)
}

function heldAlerts(db: Database, { organization_id, channel_id }: AlertRow) {
  return db
    .selectFrom('alerts')
    .select(['id', 'title'])
    .where('organization_id', '=', organization_id)
    .where('channel_id', '=', channel_id)
    .where('status', '=', 'HELD')
    .orderBy('id')
    .limit(MOST_HELD)
    .execute()
}

/** Records what an attempt came to, if the claim is still this process's. */
export async function recordAttempt(
  db: Database,
  claim: Due,
  { alert, channel }: Sendable,
  result: AttemptResult,
  now: number,
): Promise<void> {
  const { organization_id: organizationId, id } = alert
  const retries = alert.attempts === 0 || alert.sent_at !== null ? alert.retries : alert.retries + 1
  const again =
    result.kind === 'retry' && alert.sent_at === null
      ? nextAttemptAt({ retries, now, requestId: id, retryAfterMs: result.retryAfterMs })
      : null
  const status = result.kind === 'sent' ? 'SENT' : again === null ? 'FAILED' : 'RETRYING'
  await inTransaction(db, async (transaction) => {
    // First the incident, as those do who resolve it: one of both sees what the other wrote.
    const incident = alert.kind === 'failing' ? await lockIncident(transaction, alert) : undefined
    const held =
      again === null
        ? await complete(transaction, 'due_alerts', [claim])
        : await reschedule(transaction, 'due_alerts', [{ claim, set: { due_at: again } }])
    if (held.length === 0) return
    const sentAt = status === 'SENT' ? { sent_at: now } : {}
    const progress = result.progress === undefined ? null : JSON.stringify(result.progress)
    await setAlert(
      transaction,
      { organization_id: organizationId, alert_id: id },
      {
        ...{ status, retries, error: result.error, next_attempt_at: again, progress },
        ...sentAt,
      },
    )
    await insertAttempt(transaction, alert, result)
    await noteOnChannel(transaction, channel, result, now)
    if (alert.kind === 'summary' && status === 'SENT') await releaseHeld(transaction, alert, now)
    if (incident?.resolved_at != null && status === 'SENT')
      await recoveredAlerts(transaction, organizationId, incident.id, now)
  })
}

function lockIncident(db: Database, { organization_id, incident_id }: AlertRow) {
  return db
    .selectFrom('incidents')
    .select(['id', 'resolved_at'])
    .where('organization_id', '=', organization_id)
    .where('id', '=', incident_id)
    .modifyEnd(forUpdate(db))
    .executeTakeFirst()
}

/** What people see of it in the list of channels. */
export async function noteOnChannel(
  db: Database,
  { organization_id, id }: Pick<ChannelRow, 'organization_id' | 'id'>,
  { kind, error }: AttemptResult,
  now: number,
): Promise<void> {
  await db
    .updateTable('channels')
    .set({ last_error: error, ...(kind === 'sent' ? { last_sent_at: now } : {}) })
    .where('organization_id', '=', organization_id)
    .where('id', '=', id)
    .execute()
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
    .where('number', '<=', number - MOST_ATTEMPTS)
    .execute()
}

/** What the summary said is sent. What was held meanwhile, or did not fit, is in the next one. */
async function releaseHeld(db: Database, summary: AlertRow, now: number): Promise<void> {
  const { organization_id: organizationId, channel_id: channelId, id } = summary
  await db
    .updateTable('alerts')
    .set({ status: 'SENT', sent_at: now })
    .where('organization_id', '=', organizationId)
    .where('channel_id', '=', channelId)
    .where('status', '=', 'HELD')
    .where('summary_id', '=', id)
    .execute()
  if ((await heldAlerts(db, summary)).length > 0)
    await ensureSummary(db, { organizationId, channelId, dueAt: now + HOUR_MS }, now)
}

type Change = Partial<
  Pick<AlertRow, 'status' | 'error' | 'title' | 'retries' | 'next_attempt_at' | 'progress' | 'sent_at'>
>

async function setAlert(
  db: Database,
  { organization_id, alert_id }: Pick<Due, 'organization_id' | 'alert_id'>,
  set: Change,
): Promise<void> {
  await db
    .updateTable('alerts')
    .set(set)
    .where('organization_id', '=', organization_id)
    .where('id', '=', alert_id)
    .execute()
}

function alertRow(db: Database, organizationId: string, id: string): Promise<AlertRow | undefined> {
  return db
    .selectFrom('alerts')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst()
}

function channelRow(db: Database, organizationId: string, id: string): Promise<ChannelRow | undefined> {
  return db
    .selectFrom('channels')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .modifyEnd(forUpdate(db))
    .executeTakeFirst()
}
