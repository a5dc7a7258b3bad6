import type { Selectable } from 'kysely'
import type { Database } from '../database/database.ts'
import type { AlertRulesTable } from '../database/schema-alerts.ts'
import type { NewAlert } from './alert-store.ts'
import { failureMatcher } from './rule-matching.ts'

/** One message combines the monitors that fail within this time, even if a rule has no delay. */
const GROUPING_MS = 15_000

export type ActiveRule = {
  row: Selectable<AlertRulesTable>
  matches: ReturnType<typeof failureMatcher>
  channelIds: string[]
}

/** Of a failure at `failedAt`: for each channel of the rule, and for its escalation. */
export function newAlerts(
  { row, channelIds }: Pick<ActiveRule, 'row' | 'channelIds'>,
  incidentId: string,
  failedAt: number,
  now: number,
): NewAlert[] {
  const dueAt = Math.max(now + GROUPING_MS, failedAt + row.delay_ms)
  const common = { kind: 'failing' as const, incidentId, ruleId: row.id }
  const alerts = channelIds.map((channelId) => ({ ...common, channelId, dueAt }))
  if (row.escalate_ms === null || row.escalation_channel_id === null) return alerts
  return [...alerts, { ...common, channelId: row.escalation_channel_id, dueAt: dueAt + row.escalate_ms, escalated: 1 }]
}

/** With their channels. */
export async function activeRules(db: Database, organizationId: string): Promise<ActiveRule[]> {
  const rows = await db
    .selectFrom('alert_rules')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('is_active', '=', 1)
    .execute()
  const links = await db
    .selectFrom('alert_rule_channels')
    .select(['rule_id', 'channel_id'])
    .where('organization_id', '=', organizationId)
    .execute()
  const byRule = Map.groupBy(links, ({ rule_id }) => rule_id)
  return rows.map((row) => ({
    row,
    matches: failureMatcher(row),
    channelIds: (byRule.get(row.id) ?? []).map(({ channel_id }) => channel_id),
  }))
}
