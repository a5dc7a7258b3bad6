import type { MonitorAlertRules, MonitorRule } from '#contract/monitor-alert-rules.ts'
import type { Tenant } from '../context.ts'
import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { getTenantRow } from '../database/tenant-row.ts'
import { MINUTE_MS } from '../times.ts'
import { exclusionFinder } from './rule-matching.ts'

/** Which rules send the failures of a monitor, and why the others do not. Throws `not_found`. */
export async function getMonitorRules(db: Database, tenant: Tenant, monitorId: string): Promise<MonitorAlertRules> {
  const { organizationId } = tenant
  const monitor = await getTenantRow(db, 'monitors', tenant, monitorId)
  const { group_id: groupId, owner: name, record_type: recordType } = monitor
  const attributes = { groupId, name, recordType, tags: JSON.parse(monitor.tags) }
  const wasValid =
    monitor.state === 'VALID' ||
    monitor.was_valid === 1 ||
    (await wasValidBeforeIncident(db, organizationId, monitorId))
  const rows = await db
    .selectFrom('alert_rules')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .orderBy('id')
    .execute()
  const ruleIds = rows.map(({ id }) => id)
  const channelsByRule = await activeChannels(db, organizationId, ruleIds)
  const rules = rows.map((row) => {
    const states: string[] = row.states === null ? [] : JSON.parse(row.states)
    const channels = (channelsByRule.get(row.id) ?? []).map(({ id, name }) => ({ id, name }))
    const exclusion = row.is_active === 0 ? 'inactive' : exclusionFinder(row)(attributes)
    const obstacle: MonitorRule['reason'] | null =
      exclusion ?? (channels.length === 0 ? 'no_channel' : !wasValid && row.first_results === 0 ? 'never_valid' : null)
    return {
      rule_id: row.id,
      name: row.name,
      applies: obstacle === null,
      reason: obstacle ?? (states.length > 0 ? ('state' as const) : ('matches' as const)),
      states,
      delay: Math.round(row.delay_ms / MINUTE_MS),
      channels,
    }
  })
  return { data: rules.map((rule) => ({ ...rule, also_sent_by: overlappingRules(rule, rules) })) }
}

type Rule = Omit<MonitorRule, 'also_sent_by'>

/** The names of rules that send some of the same failures to one of the same channels. */
function overlappingRules(rule: Rule, all: readonly Rule[]): string[] {
  if (!rule.applies) return []
  const channelIds = new Set(rule.channels.map(({ id }) => id))
  const sharesState = ({ states }: Rule) =>
    states.length === 0 || rule.states.length === 0 || states.some((state) => rule.states.includes(state))
  const sharesChannel = ({ channels }: Rule) => channels.some(({ id }) => channelIds.has(id))
  return all
    .filter((other) => other !== rule && other.applies && sharesState(other) && sharesChannel(other))
    .map(({ name }) => name)
}

async function activeChannels(db: Database, organizationId: string, ruleIds: readonly string[]) {
  const rows = await db
    .selectFrom('alert_rule_channels')
    .innerJoin('channels', (join) =>
      join
        .onRef('channels.organization_id', '=', 'alert_rule_channels.organization_id')
        .onRef('channels.id', '=', 'alert_rule_channels.channel_id'),
    )
    .select(['alert_rule_channels.rule_id', 'channels.id', 'channels.name'])
    .where('alert_rule_channels.organization_id', '=', organizationId)
    .where(isOneOf(db, 'rule_id', ruleIds))
    .where('channels.is_active', '=', 1)
    .orderBy('channels.id')
    .execute()
  return Map.groupBy(rows, ({ rule_id }) => rule_id)
}

/** Whether the monitor was valid before the incident that it is in. */
async function wasValidBeforeIncident(db: Database, organizationId: string, monitorId: string): Promise<boolean> {
  const membership = await db
    .selectFrom('incident_monitors')
    .select('monitor_id')
    .where('organization_id', '=', organizationId)
    .where('monitor_id', '=', monitorId)
    .where('recovered_at', 'is', null)
    .where('first_result', '=', 0)
    .limit(1)
    .executeTakeFirst()
  return membership !== undefined
}
