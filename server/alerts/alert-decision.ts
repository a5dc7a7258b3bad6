import { type Selectable, sql } from 'kysely'
import { textOf } from '#contract/reasons.ts'
import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import type { AlertRulesTable, IncidentsTable } from '../database/schema-alerts.ts'
import type { AlertRow } from './alert-store.ts'
import type { ChannelRow } from './channel.ts'
import { HTTP_MEDIA } from './channels/channels.ts'
import { countLeft } from './incident-monitors.ts'
import { inAnyWindow, includesMonitor } from './maintenance.ts'
import { activeWindows } from './maintenance-store.ts'
import {
  type Common,
  informationNotice,
  type Notice,
  type NoticedIncident,
  type NoticedMonitor,
  noticeOfIncident,
  summaryNotice,
} from './notice.ts'
import { matchesFailing } from './rule.ts'
import { digestAt, quietUntil } from './rule-times.ts'

/** Monitors that a message shows. */
const MOST_SHOWN = 5
const MOST_TITLES = 20
/** Held alerts that one summary takes. */
const MOST_HELD = 1000

/**
 * What becomes of an alert that is due. `cancel`: it is not sent, or not once more. `hold`: it is part of a digest, whose rule
 * and time these are. `reason`: why it waits, where its rule does not say so.
 */
export type Judged =
  | { kind: 'send'; notice: Notice }
  | { kind: 'cancel'; reason: string }
  | { kind: 'wait'; until: number; reason?: string }
  | { kind: 'hold'; notice: Notice; ruleId: string; dueAt: number }

type IncidentRow = Selectable<IncidentsTable>
type RuleRow = Selectable<AlertRulesTable>

/** Reads what it is about as it is now: monitors recover, people acknowledge and rules change while an alert waits. */
export async function judge(db: Database, alert: AlertRow, channel: ChannelRow, common: Common): Promise<Judged> {
  if (alert.kind === 'summary') return await judgeSummary(db, alert, common)
  const rule = await ruleOf(db, alert)
  if (alert.information !== null) return judgeInformation(alert, rule, channel, common)
  const row = await incidentOf(db, alert)
  if (!row || !rule) return { kind: 'cancel', reason: 'the alert rule was deleted' }
  const incident = noticedOf(row)
  if (alert.kind === 'recovered') return await judgeRecovery(db, alert, { incident, rule, channel, common })
  const { now } = common
  if (alert.retry_requested_at !== null) {
    const monitors = await monitorsOf(db, alert, matchesFailing(rule))
    return { kind: 'send', notice: noticeOfIncident('failing', incident, monitors, common) }
  }
  if (rule.is_active === 0) return { kind: 'cancel', reason: 'the alert rule is not active' }
  if (row.resolved_at !== null) return { kind: 'cancel', reason: 'the monitors recovered before it was sent' }
  if (row.acknowledged_at !== null)
    return { kind: 'cancel', reason: 'the incident was acknowledged before it was sent' }
  if (!(await isForChannel(db, alert, rule)))
    return { kind: 'cancel', reason: 'the alert rule has another channel now' }
  if (row.snoozed_until !== null && row.snoozed_until > now) return { kind: 'wait', until: row.snoozed_until }
  const isFailing = sql<boolean>`${matchesFailing(rule)} and incident_monitors.recovered_at is null and monitors.is_active = 1`
  const windows = await activeWindows(db, alert.organization_id, now)
  const outside = sql<boolean>`${isFailing} and not ${inAnyWindow(windows)}`
  const failing = await monitorsOf(db, alert, outside, 'incident_monitors.failing_since')
  const held = windows.length === 0 ? [] : await monitorsOf(db, alert, isFailing)
  const isInWindow = held.length > failing.length
  const endsAt = isInWindow ? Math.min(...windows.map(({ to }) => to)) : Number.POSITIVE_INFINITY
  if (failing.length === 0) {
    const holding = windows.find((window) => held.some((monitor) => includesMonitor(window, monitor)))
    if (holding) return { kind: 'wait', until: endsAt, reason: `maintenance: ${holding.name}` }
    return { kind: 'cancel', reason: 'the monitors of the rule recovered before it was sent' }
  }
  const firstSentAt = alert.escalated === 1 ? await firstSentOf(db, alert) : null
  const dueAt = dueAtOf(alert, { incident: row, rule, failingSince: failing[0]!.failingSince, firstSentAt })
  if (dueAt === null) return { kind: 'cancel', reason: 'nothing more is to be sent' }
  if (dueAt > now) return { kind: 'wait', until: Math.min(dueAt, endsAt) }
  const stage = { isEscalated: alert.escalated === 1, isRepeated: alert.sent_at !== null }
  const notice = { ...noticeOfIncident('failing', incident, failing, { ...common, ...stage }), ...referenceTo(alert) }
  const judged = whenAllowed(notice, rule, now)
  // What waits for the end of the quiet hours with the first message must leave time to acknowledge that.
  if (judged.kind === 'wait' && alert.escalated === 1) return { kind: 'wait', until: judged.until + rule.escalate_ms! }
  return judged
}

/** `firstSentAt`: of an escalation, when the first message that nobody acknowledged was sent; null where none was. */
type Known = { incident: IncidentRow; rule: RuleRow; failingSince: number; firstSentAt: number | null }

/** When an alert is sent next whose monitors still fail; null: it was sent, and is not repeated. */
function dueAtOf(alert: AlertRow, { incident, rule, failingSince, firstSentAt }: Known): number | null {
  const lastAt = alert.status === 'SENT' ? alert.sent_at : alert.status === 'FAILED' ? alert.last_attempt_at : null
  if (lastAt === null) {
    const dueAt = firstSentAt ?? failingSince + rule.delay_ms
    return alert.escalated === 0 ? dueAt : rule.escalate_ms === null ? null : dueAt + rule.escalate_ms
  }
  // After a snooze it is sent once more, also where the rule repeats nothing.
  if (incident.snoozed_until !== null && incident.snoozed_until > lastAt) return incident.snoozed_until
  return rule.repeat_ms === null ? null : lastAt + rule.repeat_ms
}

/** By the timeline, as each repetition changes `sent_at`. */
async function firstSentOf(db: Database, { organization_id, incident_id, rule_id }: AlertRow): Promise<number | null> {
  const first = await db
    .selectFrom('alerts')
    .leftJoin('incident_entries', (join) =>
      join
        .onRef('incident_entries.organization_id', '=', 'alerts.organization_id')
        .onRef('incident_entries.incident_id', '=', 'alerts.incident_id')
        .onRef('incident_entries.alert_id', '=', 'alerts.id')
        .on('incident_entries.kind', '=', 'sent'),
    )
    .select(({ fn }) => fn.min(fn.coalesce('incident_entries.occurred_at', 'alerts.sent_at')).as('at'))
    .where('alerts.organization_id', '=', organization_id)
    .where('alerts.incident_id', '=', incident_id)
    .where('alerts.rule_id', '=', rule_id)
    .where('alerts.kind', '=', 'failing')
    .where('alerts.escalated', '=', 0)
    .executeTakeFirst()
  return first?.at ?? null
}

/** Whether the rule still sends to the channel of the alert. */
async function isForChannel(db: Database, alert: AlertRow, rule: RuleRow): Promise<boolean> {
  if (alert.escalated === 1 && alert.channel_id === rule.escalation_channel_id) return true
  const link = await db
    .selectFrom('alert_rule_channels')
    .select('channel_id')
    .where('organization_id', '=', alert.organization_id)
    .where('rule_id', '=', rule.id)
    .where('channel_id', '=', alert.channel_id)
    .executeTakeFirst()
  return link !== undefined
}

const noticedOf = (row: IncidentRow): NoticedIncident => ({
  id: row.id,
  zone: row.zone,
  state: row.state,
  openedAt: row.opened_at,
  resolvedAt: row.resolved_at,
  monitors: row.monitors,
  failing: row.failing,
  causeKind: row.cause_kind,
  causeValue: row.cause_value,
})

function whenAllowed(notice: Notice, rule: RuleRow, now: number): Judged {
  // The digest is what waits for the end of the quiet hours then.
  if (rule.digest !== null) return { kind: 'hold', notice, ruleId: rule.id, dueAt: digestAt(rule, now) }
  const until = quietUntil(rule, now)
  return until === null ? { kind: 'send', notice } : { kind: 'wait', until }
}

type About = { incident: NoticedIncident; rule: RuleRow; channel: ChannelRow; common: Common }

/** What a recovery closes is closed at once, also in quiet hours. */
async function judgeRecovery(
  db: Database,
  alert: AlertRow,
  { incident, rule, channel, common }: About,
): Promise<Judged> {
  const monitors = await monitorsOf(db, alert, sql<boolean>`1 = 1`)
  const first = await db
    .selectFrom('alerts')
    .select(['title', 'sent_at', 'reference'])
    .where('organization_id', '=', alert.organization_id)
    .where('incident_id', '=', alert.incident_id)
    .where('rule_id', '=', alert.rule_id)
    .where('channel_id', '=', alert.channel_id)
    .where('kind', '=', 'failing')
    .executeTakeFirst()
  const resolves =
    first?.title != null && first.sent_at !== null ? { title: first.title, at: first.sent_at } : undefined
  const left = await countLeft(db, alert.organization_id, incident.id)
  const message = noticeOfIncident('recovered', incident, monitors, { ...common, resolves, left })
  const notice = { ...message, ...referenceTo(first) }
  const closableAt = (first?.sent_at ?? 0) + (closesAfterMs(channel) ?? 0)
  if (closableAt > common.now) return { kind: 'wait', until: closableAt }
  if (alert.retry_requested_at !== null || closes(channel)) return { kind: 'send', notice }
  return whenAllowed(notice, rule, common.now)
}

const referenceTo = (first: Pick<AlertRow, 'reference'> | undefined): Pick<Notice, 'reference'> =>
  first?.reference == null ? {} : { reference: first.reference }

/** Nobody on call is woken by it. */
function judgeInformation(alert: AlertRow, rule: RuleRow | undefined, channel: ChannelRow, common: Common): Judged {
  if (closes(channel)) return { kind: 'cancel', reason: 'the channel is for failures only' }
  const notice = informationNotice(JSON.parse(alert.information!), { ...common, now: alert.created_at })
  if (alert.retry_requested_at !== null) return { kind: 'send', notice }
  if (rule?.is_active !== 1) return { kind: 'cancel', reason: 'the alert rule was deleted or is not active' }
  return whenAllowed(notice, rule, common.now)
}

/** Whether a recovery closes in the channel what the failure opened. */
export const closes = (channel: ChannelRow): boolean => closesAfterMs(channel) !== undefined
const closesAfterMs = ({ type }: ChannelRow): number | undefined =>
  type === 'email' ? undefined : HTTP_MEDIA[type as keyof typeof HTTP_MEDIA].closesAfterMs

async function judgeSummary(db: Database, alert: AlertRow, common: Common): Promise<Judged> {
  if (alert.status === 'PENDING' && alert.next_attempt_at !== null && alert.next_attempt_at > common.now)
    return { kind: 'wait', until: alert.next_attempt_at }
  const rule = await ruleOf(db, { ...alert, rule_id: alert.digest_rule_id })
  const until = rule && alert.retry_requested_at === null ? quietUntil(rule, common.now) : null
  if (until !== null) return { kind: 'wait', until }
  const held = await heldAlerts(db, alert)
  if (held.length === 0) return { kind: 'cancel', reason: 'no alerts are held' }
  await db
    .updateTable('alerts')
    .set({ summary_id: alert.id })
    .where('organization_id', '=', alert.organization_id)
    .where(
      isOneOf(
        db,
        'id',
        held.map(({ id }) => id),
      ),
    )
    .execute()
  const titles = held.slice(0, MOST_TITLES).map(({ title }) => title ?? '')
  const isDigest = alert.digest_rule_id !== null
  return { kind: 'send', notice: summaryNotice(titles, held.length, { ...common, isDigest }) }
}

export function heldAlerts(db: Database, { organization_id, channel_id, digest_rule_id }: AlertRow) {
  return db
    .selectFrom('alerts')
    .select(['id', 'title'])
    .where('organization_id', '=', organization_id)
    .where('channel_id', '=', channel_id)
    .where('status', '=', 'HELD')
    .where('digest_rule_id', digest_rule_id === null ? 'is' : '=', digest_rule_id)
    .orderBy('id')
    .limit(MOST_HELD)
    .execute()
}

function incidentOf(db: Database, { organization_id, incident_id }: AlertRow) {
  return db
    .selectFrom('incidents')
    .selectAll()
    .where('organization_id', '=', organization_id)
    .where('id', '=', incident_id)
    .executeTakeFirst()
}

function ruleOf(db: Database, { organization_id, rule_id }: Pick<AlertRow, 'organization_id' | 'rule_id'>) {
  return db
    .selectFrom('alert_rules')
    .selectAll()
    .where('organization_id', '=', organization_id)
    .where('id', '=', rule_id)
    .executeTakeFirst()
}

/** The first few in the order of an index. Their values are those of their last failure, and their own where that is not kept so long. */
async function monitorsOf(
  db: Database,
  alert: AlertRow,
  where: ReturnType<typeof matchesFailing>,
  order: 'incident_monitors.failing_since' | 'incident_monitors.monitor_id' = 'incident_monitors.monitor_id',
): Promise<(NoticedMonitor & { groupId: string; failingSince: number })[]> {
  const rows = await db
    .selectFrom('incident_monitors')
    .innerJoin('monitors', (join) =>
      join
        .onRef('monitors.organization_id', '=', 'incident_monitors.organization_id')
        .onRef('monitors.id', '=', 'incident_monitors.monitor_id'),
    )
    .leftJoin('events', (join) =>
      join
        .onRef('events.organization_id', '=', 'incident_monitors.organization_id')
        .onRef('events.id', '=', 'incident_monitors.event_id'),
    )
    .select(['monitors.id', 'monitors.owner', 'monitors.group_id', 'incident_monitors.failing_since'])
    .select([
      lastFailure<string>('record_type').as('record_type'),
      lastFailure<string>('expected_values').as('expected_values'),
      lastFailure<string | null>('current_values').as('current_values'),
      lastFailure<string | null>('diagnosis').as('diagnosis'),
    ])
    .where('incident_monitors.organization_id', '=', alert.organization_id)
    .where('incident_monitors.incident_id', '=', alert.incident_id!)
    .where(where)
    .orderBy(order)
    .limit(MOST_SHOWN)
    .execute()
  return rows.map((row) => ({
    id: row.id,
    groupId: row.group_id,
    name: row.owner,
    recordType: row.record_type,
    expected: JSON.parse(row.expected_values),
    found: row.current_values === null ? null : JSON.parse(row.current_values),
    cause: causeOf(row.diagnosis),
    failingSince: row.failing_since,
  }))
}

const lastFailure = <T>(column: string) =>
  sql<T>`case when events.id is null then ${sql.ref(`monitors.${column}`)} else ${sql.ref(`events.${column}`)} end`

function causeOf(diagnosis: string | null): string | null {
  const verdict = diagnosis === null ? undefined : JSON.parse(diagnosis).verdict
  return verdict === undefined ? null : textOf(verdict)
}
