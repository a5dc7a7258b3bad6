import { type Selectable, sql } from 'kysely'
import { adviceFor } from '#contract/advice.ts'
import type { Resolution } from '#contract/monitors.ts'
import { textOf, type VerdictReason } from '#contract/reasons.ts'
import { shownWarning, type Warning } from '#contract/warnings.ts'
import type { ZoneHealth } from '#contract/zone-codes.ts'
import type { Database } from '../database/database.ts'
import type { AlertRulesTable, IncidentsTable } from '../database/schema-alerts.ts'
import { findTenantRow } from '../database/tenant-row.ts'
import { countWithdrawn } from '../incidents/memberships.ts'
import { GROWTH_PAUSE_MS, hasGrown, hasRisen } from './alert-growth.ts'
import {
  type AlertMessage,
  failingMessage,
  informationMessage,
  type MessageContext,
  type MonitorSummary,
  recoveryMessage,
} from './alert-message.ts'
import type { AlertRow } from './alert-store.ts'
import type { ChannelRow } from './channel.ts'
import { HTTP_CHANNEL_TYPES } from './channel-types/channel-types.ts'
import { firstZones } from './first-zones.ts'
import { summaryOf } from './incident-summary.ts'
import { inAnyWindow, includesMonitor, includesZone, zoneInAnyWindow } from './maintenance.ts'
import { activeWindows } from './maintenance-store.ts'
import { matchesFailing, matchesZones } from './rule-matching.ts'
import { digestAt, quietUntil } from './rule-schedule.ts'
import { decideSummary, nextSummaryAt } from './summary.ts'

/** How long a summary takes to be sent. */
const SUMMARY_SENT_MS = 60_000
/** Monitors that a message names. */
const MAX_MONITORS = 5

/**
 * What to do with a due alert. `cancel`: do not send it, or not again. `hold`: add it to the digest of this rule. `reason` of
 * `wait`: why it waits, unless its rule says so. `announced`: what the message says of the size and the level of the incident.
 */
export type AlertDecision =
  | { kind: 'send'; message: AlertMessage; announced?: Announced }
  | { kind: 'cancel'; reason: string }
  | { kind: 'wait'; until: number; reason?: string }
  | { kind: 'hold'; message: AlertMessage; announced?: Announced; ruleId: string; dueAt: number }
export type Announced = { monitors: number; level: ZoneHealth | null }

type IncidentRow = Selectable<IncidentsTable>
type RuleRow = Selectable<AlertRulesTable>

/** Decides from the current state: monitors recover, people acknowledge and rules change while an alert waits. */
export async function decideAlert(
  db: Database,
  alert: AlertRow,
  channel: ChannelRow,
  context: MessageContext,
): Promise<AlertDecision> {
  if (alert.kind === 'summary') return await decideSummary(db, alert, context)
  const tenant = { organizationId: alert.organization_id }
  const rule = await findTenantRow(db, 'alert_rules', tenant, alert.rule_id)
  if (alert.information !== null) return decideInformation(alert, rule, channel, context)
  const incident = await findTenantRow(db, 'incidents', tenant, alert.incident_id)
  if (!incident || !rule) return { kind: 'cancel', reason: 'the alert rule was deleted' }
  if (alert.kind === 'recovered') return await decideRecovery(db, alert, { incident, rule, channel }, context)
  return await decideFailing(db, alert, { incident, rule }, context)
}

async function decideFailing(
  db: Database,
  alert: AlertRow,
  { incident, rule }: { incident: IncidentRow; rule: RuleRow },
  context: MessageContext,
): Promise<AlertDecision> {
  const { now } = context
  const announced = { monitors: incident.monitors, level: incident.zone_level }
  if (alert.retry_requested_at !== null) {
    const monitors = await firstMonitors(db, alert, matchesFailing(rule))
    const zones = await firstZones(db, alert, matchesZones(rule))
    const message = failingMessage(summaryOf(incident), monitors, { ...context, zones })
    return { kind: 'send', message, announced }
  }
  if (rule.is_active === 0) return { kind: 'cancel', reason: 'the alert rule is not active' }
  if (incident.resolved_at !== null) return { kind: 'cancel', reason: 'the monitors recovered before it was sent' }
  if (incident.acknowledged_at !== null)
    return { kind: 'cancel', reason: 'the incident was acknowledged before it was sent' }
  if (!(await sendsToChannel(db, alert, rule)))
    return { kind: 'cancel', reason: 'the alert rule has another channel now' }
  if (incident.snoozed_until !== null && incident.snoozed_until > now)
    return { kind: 'wait', until: incident.snoozed_until }
  const isFailing = sql<boolean>`${matchesFailing(rule)} and incident_monitors.recovered_at is null and monitors.is_active = 1`
  const windows = await activeWindows(db, alert.organization_id, now)
  const isOutsideWindows = sql<boolean>`${isFailing} and not ${inAnyWindow(windows)}`
  const failing = await firstMonitors(db, alert, isOutsideWindows, 'incident_monitors.failing_since')
  const zones = await firstZones(db, alert, sql<boolean>`${isFailingZone(rule)} and not ${zoneInAnyWindow(windows)}`)
  const allFailing = windows.length === 0 ? [] : await firstMonitors(db, alert, isFailing)
  const allZones = windows.length === 0 ? [] : await firstZones(db, alert, isFailingZone(rule))
  const isAnyInWindow = allFailing.length > failing.length || allZones.length > zones.length
  const windowEndsAt = isAnyInWindow ? Math.min(...windows.map(({ to }) => to)) : Number.POSITIVE_INFINITY
  if (failing.length === 0 && zones.length === 0) {
    const window = windows.find(
      (window) =>
        allFailing.some((monitor) => includesMonitor(window, monitor)) ||
        allZones.some((zone) => includesZone(window, zone.name)),
    )
    if (window) return { kind: 'wait', until: windowEndsAt, reason: `maintenance: ${window.name}` }
    return { kind: 'cancel', reason: 'the monitors of the rule recovered before it was sent' }
  }
  const firstSentAt = alert.escalated === 1 ? await findFirstSentAt(db, alert) : null
  const level = zones.length === 0 ? null : incident.zone_level
  const failingSince = Math.min(...[...failing, ...zones].map((each) => each.failingSince))
  const dueAt = alertDueAt(alert, { incident, rule, failingSince, firstSentAt, level })
  if (dueAt === null) return { kind: 'cancel', reason: 'nothing more is to be sent' }
  if (dueAt > now) return { kind: 'wait', until: Math.min(dueAt, windowEndsAt) }
  const grownFrom = hasGrown(alert.announced_monitors, incident.monitors) ? alert.announced_monitors! : undefined
  const stage = { zones, isEscalated: alert.escalated === 1, isRepeated: alert.sent_at !== null, grownFrom }
  const message = failingMessage(summaryOf(incident), failing, { ...context, ...stage })
  const decision = respectRuleTimes({ ...message, ...replyTo(alert) }, rule, now)
  if (decision.kind === 'send' || decision.kind === 'hold') return { ...decision, announced: { ...announced, level } }
  // If quiet hours delay the first message too, people need time to acknowledge it afterwards.
  if (decision.kind === 'wait' && alert.escalated === 1)
    return { kind: 'wait', until: decision.until + rule.escalate_ms! }
  return decision
}

/** When to send an alert whose monitors still fail; null: it was sent, and is not repeated unless the incident grows. `firstSentAt`: when the message was sent that an escalation follows. */
function alertDueAt(
  alert: AlertRow,
  inputs: {
    incident: IncidentRow
    rule: RuleRow
    failingSince: number
    firstSentAt: number | null
    level: ZoneHealth | null
  },
): number | null {
  const { incident, rule, failingSince, firstSentAt, level } = inputs
  const lastAt = alert.status === 'SENT' ? alert.sent_at : alert.status === 'FAILED' ? alert.last_attempt_at : null
  if (lastAt === null) {
    const dueAt = firstSentAt ?? failingSince + rule.delay_ms
    return alert.escalated === 0 ? dueAt : rule.escalate_ms === null ? null : dueAt + rule.escalate_ms
  }
  // After a snooze the alert is sent once more, even if the rule does not repeat alerts.
  if (incident.snoozed_until !== null && incident.snoozed_until > lastAt) return incident.snoozed_until
  if (hasRisen(alert.announced_level, level)) return lastAt
  const grownAt = hasGrown(alert.announced_monitors, incident.monitors) ? lastAt + GROWTH_PAUSE_MS : null
  const repeatAt = rule.repeat_ms === null ? null : lastAt + rule.repeat_ms
  return grownAt !== null && repeatAt !== null ? Math.min(grownAt, repeatAt) : (grownAt ?? repeatAt)
}

/** Uses the timeline, because each repetition changes `sent_at`. */
async function findFirstSentAt(
  db: Database,
  { organization_id, incident_id, rule_id }: AlertRow,
): Promise<number | null> {
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
async function sendsToChannel(db: Database, alert: AlertRow, rule: RuleRow): Promise<boolean> {
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

/** Sends the message, unless the rule combines its alerts in a digest or has quiet hours now. A digest waits for their end itself. */
function respectRuleTimes(message: AlertMessage, rule: RuleRow, now: number): AlertDecision {
  if (rule.digest !== null) return { kind: 'hold', message, ruleId: rule.id, dueAt: digestAt(rule, now) }
  const until = quietUntil(rule, now)
  return until === null ? { kind: 'send', message } : { kind: 'wait', until }
}

/** A recovery that closes an alert at the provider is sent at once, even in quiet hours. */
async function decideRecovery(
  db: Database,
  alert: AlertRow,
  { incident, rule, channel }: { incident: IncidentRow; rule: RuleRow; channel: ChannelRow },
  context: MessageContext,
): Promise<AlertDecision> {
  const monitors = await firstMonitors(db, alert, sql<boolean>`1 = 1`)
  const failing = await findFailing(db, alert)
  // What a summary would say is decided when it is sent. Until then nobody knows whether there is anything to recover from.
  if (failing?.status === 'HELD' && failing.digest_rule_id === null)
    return {
      kind: 'wait',
      until: Math.max(context.now, await nextSummaryAt(db, alert)) + SUMMARY_SENT_MS,
      reason: 'its failure is held',
    }
  if (failing?.status === 'CANCELED' && failing.sent_at === null)
    return { kind: 'cancel', reason: 'superseded: its failure was not sent' }
  const { title = null, sent_at = null } = failing ?? {}
  const resolves = title !== null && sent_at !== null ? { title, at: sent_at } : undefined
  const left = await countWithdrawn(db, alert.organization_id, incident.id)
  const recovery = recoveryMessage(summaryOf(incident), monitors, { ...context, resolves, left })
  const message = { ...recovery, ...replyTo(failing) }
  const closableAt = (sent_at ?? 0) + (closesAfterMs(channel) ?? 0)
  if (closableAt > context.now) return { kind: 'wait', until: closableAt }
  if (alert.retry_requested_at !== null || closesOnRecovery(channel)) return { kind: 'send', message }
  return respectRuleTimes(message, rule, context.now)
}

/** The failing alert that a recovery follows. */
export const findFailing = (db: Database, alert: AlertRow) =>
  db
    .selectFrom('alerts')
    .select(['title', 'sent_at', 'reference', 'status', 'digest_rule_id', 'summary_id'])
    .where('organization_id', '=', alert.organization_id)
    .where('incident_id', '=', alert.incident_id)
    .where('rule_id', '=', alert.rule_id)
    .where('channel_id', '=', alert.channel_id)
    .where('kind', '=', 'failing')
    .executeTakeFirst()

const replyTo = (first: Pick<AlertRow, 'reference'> | undefined): Pick<AlertMessage, 'reference'> =>
  first?.reference == null ? {} : { reference: first.reference }

/** Not sent to channels that page people on call. */
function decideInformation(
  alert: AlertRow,
  rule: RuleRow | undefined,
  channel: ChannelRow,
  context: MessageContext,
): AlertDecision {
  if (closesOnRecovery(channel)) return { kind: 'cancel', reason: 'the channel is for failures only' }
  const message = informationMessage(JSON.parse(alert.information!), { ...context, now: alert.created_at })
  if (alert.retry_requested_at !== null) return { kind: 'send', message }
  if (rule?.is_active !== 1) return { kind: 'cancel', reason: 'the alert rule was deleted or is not active' }
  return respectRuleTimes(message, rule, context.now)
}

export const closesOnRecovery = (channel: ChannelRow): boolean => closesAfterMs(channel) !== undefined

const closesAfterMs = ({ type }: ChannelRow): number | undefined =>
  type === 'email' ? undefined : HTTP_CHANNEL_TYPES[type as keyof typeof HTTP_CHANNEL_TYPES].closesAfterMs

const isFailingZone = (rule: RuleRow) => sql<boolean>`${matchesZones(rule)} and incident_monitors.recovered_at is null`

/** With the values of their last failure; with their current ones if that event was deleted. */
async function firstMonitors(
  db: Database,
  alert: AlertRow,
  where: ReturnType<typeof matchesFailing>,
  order: 'incident_monitors.failing_since' | 'incident_monitors.monitor_id' = 'incident_monitors.monitor_id',
): Promise<(MonitorSummary & { groupId: string; failingSince: number })[]> {
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
    .select(['monitors.id', 'monitors.owner', 'monitors.group_id', 'monitors.resolution'])
    .select('incident_monitors.failing_since')
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
    .limit(MAX_MONITORS)
    .execute()
  return rows.map((row) => ({
    id: row.id,
    groupId: row.group_id,
    name: row.owner,
    recordType: row.record_type,
    expected: JSON.parse(row.expected_values),
    found: row.current_values === null ? null : JSON.parse(row.current_values),
    ...verdictTexts(row.diagnosis),
    resolution: row.resolution as Resolution,
    failingSince: row.failing_since,
  }))
}

const lastFailure = <T>(column: string) =>
  sql<T>`case when events.id is null then ${sql.ref(`monitors.${column}`)} else ${sql.ref(`events.${column}`)} end`

function verdictTexts(diagnosis: string | null): Pick<MonitorSummary, 'cause' | 'advice' | 'warnings'> {
  const stored: { verdict?: VerdictReason; warnings?: Warning[] } = diagnosis === null ? {} : JSON.parse(diagnosis)
  const { verdict, warnings = [] } = stored
  if (verdict === undefined) return { cause: null, advice: null, warnings: [] }
  return {
    cause: textOf(verdict),
    advice: adviceFor(verdict, warnings)?.text ?? null,
    warnings: warnings.map((warning) => shownWarning(warning).text),
  }
}
