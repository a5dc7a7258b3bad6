import { sql } from 'kysely'
import { isOneOf } from '../database/bulk.ts'
import { type Database, forUpdate, inTransaction } from '../database/database.ts'
import { type Claim, complete, reschedule } from '../database/lease-queue.ts'
import { LONGEST_WAIT_MS, nextAttemptAt } from '../webhooks/retry-schedule.ts'
import { closes, heldAlerts, judge } from './alert-decision.ts'
import { type AlertRow, ensureSummary, insertDue, lockDue, MOST_ATTEMPTS, recoveredAlerts } from './alert-store.ts'
import type { AttemptResult } from './attempt.ts'
import type { ChannelRow } from './channel.ts'
import type { Notice } from './notice.ts'
import { insertEntries } from './timeline.ts'

const HOUR_MS = 60 * 60_000

/** Rows of `due_alerts` are due at most this far ahead. What waits longer is judged again then. */
export const LONGEST_DUE_MS = LONGEST_WAIT_MS

export type Sendable = { alert: AlertRow; channel: ChannelRow; notice: Notice }
/** `linkTo`: makes the link of a message by which people acknowledge. */
export type Beginning = {
  baseUrl: string
  alertsPerHour: number
  sendsMail: boolean
  acknowledgeLink: (alert: Pick<AlertRow, 'organization_id' | 'id'>) => string
  now: number
}
type Due = Claim<'due_alerts'>

/**
 * Decides what becomes of a claimed alert, and notes that an attempt is made before it is made. Undefined: nothing is to be sent
 * now, and the claim is completed or has another time.
 */
export async function beginAttempt(db: Database, claim: Due, options: Beginning): Promise<Sendable | undefined> {
  return await inTransaction(db, async (transaction) => {
    const { organization_id: organizationId, alert_id: id } = claim
    await lockDue(transaction, organizationId, [id])
    const alert = await alertRow(transaction, organizationId, id)
    if (!alert) return void (await complete(transaction, 'due_alerts', [claim]))
    // Locked, so that of two alerts of one channel the second counts the first.
    const channel = await channelRow(transaction, organizationId, alert.channel_id)
    if (channel?.is_active !== 1)
      return await cancel(transaction, claim, alert, 'the channel was deleted or is not active')
    if (channel.type === 'email' && !options.sendsMail) return await withoutMail(transaction, claim, alert)
    const judged = await judge(transaction, alert, channel, await commonOf(transaction, alert, options))
    if (judged.kind === 'cancel') return await cancel(transaction, claim, alert, judged.reason)
    if (judged.kind === 'wait') return await wait(transaction, claim, alert, judged, options.now)
    const { title } = judged.notice
    if (judged.kind === 'hold') {
      const { dueAt, ruleId } = judged
      return await hold(transaction, claim, { alert, title, dueAt, ruleId }, options.now)
    }
    const freeAt = isLimited(alert, channel) ? await limitedUntil(transaction, alert, options) : null
    if (freeAt !== null)
      return await hold(transaction, claim, { alert, title, dueAt: freeAt, ruleId: null }, options.now)
    await noteAttempt(transaction, alert, title, options.now)
    return { alert, channel, notice: judged.notice }
  })
}

/** Said once, on the channel: the log would have a line for each alert. */
async function withoutMail(db: Database, claim: Due, alert: AlertRow): Promise<undefined> {
  const reason = 'this server sends no mail: set SMTP_URL and MAIL_FROM'
  await db
    .updateTable('channels')
    .set({ last_error: reason })
    .where('organization_id', '=', alert.organization_id)
    .where('id', '=', alert.channel_id)
    .execute()
  return await cancel(db, claim, alert, reason)
}

async function commonOf(db: Database, alert: AlertRow, { baseUrl, acknowledgeLink, now }: Beginning) {
  const { name } = await db
    .selectFrom('organizations')
    .select('name')
    .where('id', '=', alert.organization_id)
    .executeTakeFirstOrThrow()
  // Mail programs and Matrix show a message once, whose id they know: a repetition needs another.
  const messageId = alert.sent_at === null ? alert.id : `${alert.id}_${alert.sent_at}`
  return { id: alert.id, messageId, organization: name, baseUrl, now, acknowledge: acknowledgeLink(alert) }
}

/** A summary is what the limit leaves. Where a recovery closes what was opened, it is as bounded as that. */
const isLimited = ({ kind }: AlertRow, channel: ChannelRow): boolean =>
  kind !== 'summary' && !(kind === 'recovered' && closes(channel))

async function noteAttempt(db: Database, { organization_id, id }: AlertRow, title: string, now: number): Promise<void> {
  await db
    .updateTable('alerts')
    .set({ attempts: sql<number>`attempts + 1`, last_attempt_at: now, title })
    .where('organization_id', '=', organization_id)
    .where('id', '=', id)
    .execute()
}

/** When the channel may be sent something again; null: now. Attempts count, so that what it receives is never more. */
export async function limitedUntil(
  db: Database,
  alert: Pick<AlertRow, 'organization_id' | 'channel_id'>,
  { alertsPerHour, now }: Pick<Beginning, 'alertsPerHour' | 'now'>,
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

/** One that was sent, or failed, before stays that: it is only not sent once more. */
async function cancel(db: Database, claim: Due, { status, sent_at }: AlertRow, reason: string): Promise<undefined> {
  if ((await complete(db, 'due_alerts', [claim])).length === 0) return
  const canceled = sent_at === null ? { status: 'CANCELED' as const, error: reason } : { status: 'SENT' as const }
  await setAlert(db, claim, {
    ...(status === 'FAILED' ? {} : canceled),
    next_attempt_at: null,
    retry_requested_at: null,
  })
}

type Wait = { until: number; reason?: string }

async function wait(
  db: Database,
  claim: Due,
  alert: AlertRow,
  { until, reason }: Wait,
  now: number,
): Promise<undefined> {
  const dueAt = Math.min(until, now + LONGEST_WAIT_MS)
  if ((await reschedule(db, 'due_alerts', [{ claim, set: { due_at: dueAt } }])).length === 0) return
  // After an attempt it is why that failed.
  const error = reason ?? (alert.attempts === 0 ? null : alert.error)
  await setAlert(db, claim, { next_attempt_at: until, error })
}

/** `ruleId`: whose digest it is part of; null where the channel has its limit. */
type Held = { alert: AlertRow; title: string; dueAt: number; ruleId: string | null }

async function hold(db: Database, claim: Due, { alert, title, dueAt, ruleId }: Held, now: number): Promise<undefined> {
  if ((await complete(db, 'due_alerts', [claim])).length === 0) return
  await setAlert(db, claim, {
    status: 'HELD',
    title,
    next_attempt_at: null,
    retry_requested_at: null,
    digest_rule_id: ruleId,
  })
  await ensureSummary(db, { organizationId: alert.organization_id, channelId: alert.channel_id, ruleId, dueAt }, now)
}

/** Records what an attempt came to, if the claim is still this process's. */
export async function recordAttempt(
  db: Database,
  claim: Due,
  { alert, channel, notice: { title } }: Sendable,
  result: AttemptResult,
  now: number,
): Promise<void> {
  const { organization_id: organizationId, id } = alert
  const isAsked = alert.retry_requested_at !== null
  // The first attempt, that of a repetition and those that people ask for are none of the schedule's nine.
  const isFirst = alert.attempts === 0 || alert.status === 'SENT' || alert.status === 'FAILED'
  const retries = isFirst ? 0 : isAsked ? alert.retries : alert.retries + 1
  const again =
    result.kind === 'retry' && !(isAsked && alert.sent_at !== null)
      ? nextAttemptAt({ retries, now, requestId: id, retryAfterMs: result.retryAfterMs })
      : null
  const status = result.kind === 'sent' ? 'SENT' : again === null ? 'FAILED' : 'RETRYING'
  await inTransaction(db, async (transaction) => {
    // First the incident, as those do who resolve it: one of both sees what the other wrote.
    const incident = alert.incident_id === null ? undefined : await lockIncident(transaction, alert)
    const isOpen = incident?.resolved_at === null && alert.kind === 'failing'
    const nextAt = again ?? (isOpen ? await nextMessageAt(transaction, alert, now) : null)
    const dueAt = nextAt === null ? null : Math.min(nextAt, now + LONGEST_WAIT_MS)
    const held =
      dueAt === null
        ? await complete(transaction, 'due_alerts', [claim])
        : await reschedule(transaction, 'due_alerts', [{ claim, set: { due_at: dueAt } }])
    if (held.length === 0) return
    const sentAt = status === 'SENT' ? { sent_at: now } : {}
    const reference = alert.reference ?? result.reference ?? null
    const progress = result.progress === undefined || again === null ? null : JSON.stringify(result.progress)
    await setAlert(
      transaction,
      { organization_id: organizationId, alert_id: id },
      {
        ...{ status, retries, error: result.error, next_attempt_at: nextAt, progress, retry_requested_at: null },
        ...sentAt,
        reference,
      },
    )
    await insertAttempt(transaction, alert, result)
    await noteOnChannel(transaction, channel, result, now)
    if (incident && status !== 'RETRYING') {
      const { error } = result
      const entry = { incidentId: incident.id, alertId: id, channelId: channel.id, actor: channel.name }
      const what =
        status === 'SENT' ? { kind: 'sent' as const, detail: title } : { kind: 'not_sent' as const, detail: error }
      await insertEntries(transaction, organizationId, [{ ...entry, ...what }], now)
    }
    if (alert.kind === 'summary' && status === 'SENT') await releaseHeld(transaction, alert, channel, now)
    if (alert.kind === 'failing' && incident?.resolved_at != null && status === 'SENT')
      await recoveredAlerts(transaction, organizationId, incident.id, now)
  })
}

/** When the next message about the incident is due, where its rule repeats them. */
async function nextMessageAt(
  db: Database,
  { organization_id, rule_id }: AlertRow,
  now: number,
): Promise<number | null> {
  const rule = await db
    .selectFrom('alert_rules')
    .select('repeat_ms')
    .where('organization_id', '=', organization_id)
    .where('id', '=', rule_id)
    .executeTakeFirst()
  return rule?.repeat_ms == null ? null : now + rule.repeat_ms
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
async function releaseHeld(db: Database, summary: AlertRow, channel: ChannelRow, now: number): Promise<void> {
  const { organization_id: organizationId, channel_id: channelId, id } = summary
  const released = await db
    .updateTable('alerts')
    .set({ status: 'SENT', sent_at: now })
    .where('organization_id', '=', organizationId)
    .where('channel_id', '=', channelId)
    .where('status', '=', 'HELD')
    .where('summary_id', '=', id)
    .returning(['id', 'kind', 'incident_id', 'rule_id', 'title'])
    .execute()
  const entries = released.flatMap(({ id: alertId, incident_id, title }) => {
    const common = { kind: 'sent' as const, alertId, channelId, actor: channel.name }
    return incident_id === null ? [] : [{ ...common, incidentId: incident_id, detail: title }]
  })
  await insertEntries(db, organizationId, entries, now)
  await repeatReleased(db, organizationId, released, now)
  if ((await heldAlerts(db, summary)).length > 0) {
    const ruleId = summary.digest_rule_id
    await ensureSummary(db, { organizationId, channelId, ruleId, dueAt: now + HOUR_MS }, now)
  }
}

/** Each is judged when its rule repeats it: it may be acknowledged or resolved by then. */
async function repeatReleased(
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
  for (const { id, repeat_ms } of rules) {
    const repeated = failing.filter((alert) => alert.rule_id === id).map((alert) => alert.id)
    const due = await db
      .updateTable('alerts')
      .set({ next_attempt_at: now + repeat_ms! })
      .where('organization_id', '=', organizationId)
      .where(isOneOf(db, 'id', repeated))
      .returning(['id', 'next_attempt_at'])
      .execute()
    await insertDue(db, organizationId, due, now)
  }
}

type Change = Partial<
  Pick<
    AlertRow,
    | ('status' | 'error' | 'title' | 'retries' | 'next_attempt_at' | 'progress' | 'sent_at')
    | ('retry_requested_at' | 'digest_rule_id' | 'reference')
  >
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
    .modifyEnd(forUpdate(db))
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
