import { sql } from 'kysely'
import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { findTenantRow } from '../database/tenant-row.ts'
import type { AlertDecision } from './alert-decision.ts'
import { type MessageContext, type SummarySection, summaryMessage } from './alert-message.ts'
import type { AlertRow } from './alert-store.ts'
import { quietUntil } from './rule-schedule.ts'

const MAX_TITLES = 20
const MAX_ALERTS = 10_000

/** What a summary says is decided when it is sent, also when it is retried: what recovered in the meantime is dropped. */
export async function decideSummary(db: Database, alert: AlertRow, context: MessageContext): Promise<AlertDecision> {
  const { now } = context
  if (alert.status === 'PENDING' && alert.next_attempt_at !== null && alert.next_attempt_at > now)
    return { kind: 'wait', until: alert.next_attempt_at }
  const tenant = { organizationId: alert.organization_id }
  const rule = await findTenantRow(db, 'alert_rules', tenant, alert.digest_rule_id)
  const until = rule && alert.retry_requested_at === null ? quietUntil(rule, now) : null
  if (until !== null) return { kind: 'wait', until }
  const isDigest = alert.digest_rule_id !== null
  if (!isDigest) await dropSuperseded(db, alert)
  const held = await heldAlerts(db, alert, MAX_ALERTS)
  if (held.length === 0) return { kind: 'cancel', reason: 'no alerts are held' }
  const ids = held.map(({ id }) => id)
  await db
    .updateTable('alerts')
    .set({ summary_id: alert.id })
    .where('organization_id', '=', alert.organization_id)
    .where(isOneOf(db, 'id', ids))
    .execute()
  const sections = isDigest ? [section('Alerts', held)] : sectionsOf(held)
  return { kind: 'send', message: summaryMessage(sections, { ...context, isDigest }) }
}

type HeldAlert = Awaited<ReturnType<typeof heldAlerts>>[number]

function sectionsOf(held: readonly HeldAlert[]): SummarySection[] {
  const {
    failing = [],
    recovered = [],
    information = [],
  } = Object.groupBy(held, ({ kind, information }) =>
    information !== null ? 'information' : kind === 'recovered' ? 'recovered' : 'failing',
  )
  return [
    section('Still failing', failing),
    section('Recovered', recovered),
    section('Information', information),
  ].filter(({ count }) => count > 0)
}

const section = (name: string, alerts: readonly HeldAlert[]): SummarySection => ({
  name,
  titles: alerts.slice(0, MAX_TITLES).map(({ title }) => title ?? ''),
  count: alerts.length,
})

/** The alerts that the next summary of the channel, or of the digest, combines. */
export function heldAlerts(db: Database, { organization_id, channel_id, digest_rule_id }: AlertRow, limit: number) {
  return db
    .selectFrom('alerts')
    .select(['id', 'title', 'kind', 'information'])
    .where('organization_id', '=', organization_id)
    .where('channel_id', '=', channel_id)
    .where('status', '=', 'HELD')
    .where('digest_rule_id', digest_rule_id === null ? 'is' : '=', digest_rule_id)
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** Failures that are over, or that somebody takes care of, before anybody was told. The log of alerts says so. */
async function dropSuperseded(db: Database, { organization_id, channel_id }: AlertRow): Promise<void> {
  const column = (name: 'resolved_at' | 'acknowledged_at') => sql`exists (select 1 from incidents
    where incidents.organization_id = alerts.organization_id and incidents.id = alerts.incident_id
      and ${sql.ref(`incidents.${name}`)} is not null)`
  for (const [name, reason] of [
    ['resolved_at', 'superseded: the monitors recovered before the summary was sent'],
    ['acknowledged_at', 'superseded: the incident was acknowledged before the summary was sent'],
  ] as const)
    await db
      .updateTable('alerts')
      .set({ status: 'CANCELED', error: reason })
      .where('organization_id', '=', organization_id)
      .where('channel_id', '=', channel_id)
      .where('status', '=', 'HELD')
      .where('digest_rule_id', 'is', null)
      .where('kind', '=', 'failing')
      .where('sent_at', 'is', null)
      .where(sql<boolean>`${column(name)}`)
      .execute()
}

/** When the channel's next summary is due; now if it is being sent. */
export async function nextSummaryAt(
  db: Database,
  { organization_id, channel_id }: Pick<AlertRow, 'organization_id' | 'channel_id'>,
): Promise<number> {
  const row = await db
    .selectFrom('alerts')
    .select('next_attempt_at')
    .where('organization_id', '=', organization_id)
    .where('channel_id', '=', channel_id)
    .where('kind', '=', 'summary')
    .where('status', 'in', ['PENDING', 'RETRYING'])
    .where('digest_rule_id', 'is', null)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.next_attempt_at ?? 0
}
