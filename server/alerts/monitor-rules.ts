import type { MonitorAlertRules, MonitorRule } from '#contract/alerts.ts'
import type { Tenant } from '../context.ts'
import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { notFound } from '../problem.ts'
import { mismatchOf } from './rule.ts'

const MINUTE_MS = 60_000

/** Which rules send failures of a monitor, and why the others do not. An organization has at most 50. Throws `not_found`. */
export async function rulesOfMonitor(db: Database, { organizationId }: Tenant, id: string): Promise<MonitorAlertRules> {
  const monitor = await db
    .selectFrom('monitors')
    .select(['id', 'state', 'group_id', 'owner', 'record_type', 'tags'])
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst()
  if (!monitor) throw notFound()
  const failure = {
    groupId: monitor.group_id,
    name: monitor.owner,
    recordType: monitor.record_type,
    tags: JSON.parse(monitor.tags),
  }
  const wasValid = await hasBeenValid(db, organizationId, monitor)
  const rows = await db
    .selectFrom('alert_rules')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .orderBy('id')
    .execute()
  const channels = await activeChannels(
    db,
    organizationId,
    rows.map((row) => row.id),
  )
  const rules = rows.map((row) => {
    const states: string[] = row.states === null ? [] : JSON.parse(row.states)
    const mismatch = row.is_active === 0 ? 'inactive' : mismatchOf(row)(failure)
    const own = channels.get(row.id) ?? []
    const hindrance: MonitorRule['reason'] | null =
      mismatch ?? (own.length === 0 ? 'no_channel' : !wasValid && row.first_results === 0 ? 'never_valid' : null)
    const reason: MonitorRule['reason'] = hindrance ?? (states.length > 0 ? 'state' : 'matches')
    const common = { rule_id: row.id, name: row.name, applies: hindrance === null, reason, states }
    return { ...common, delay: Math.round(row.delay_ms / MINUTE_MS), channels: own }
  })
  return { data: rules.map((rule) => ({ ...rule, also_sent_by: rivalsOf(rule, rules) })) }
}

type Shown = Omit<MonitorRule, 'also_sent_by'>

/** Rules that send a failure of the monitor to a channel that this rule sends it to as well. */
function rivalsOf(rule: Shown, all: readonly Shown[]): string[] {
  if (!rule.applies) return []
  const ids = new Set(rule.channels.map(({ id }) => id))
  const overlaps = ({ states }: Shown) =>
    states.length === 0 || rule.states.length === 0 || states.some((state) => rule.states.includes(state))
  return all
    .filter(
      (other) => other !== rule && other.applies && overlaps(other) && other.channels.some(({ id }) => ids.has(id)),
    )
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
  const byRule = Map.groupBy(rows, ({ rule_id }) => rule_id)
  return new Map([...byRule].map(([id, all]) => [id, all.map((row) => ({ id: row.id, name: row.name }))]))
}

/** It is valid, or in an incident since it was. */
async function hasBeenValid(db: Database, organizationId: string, { id, state }: { id: string; state: string }) {
  if (state === 'VALID') return true
  const place = await db
    .selectFrom('incident_monitors')
    .select('monitor_id')
    .where('organization_id', '=', organizationId)
    .where('monitor_id', '=', id)
    .where('recovered_at', 'is', null)
    .where('first_result', '=', 0)
    .limit(1)
    .executeTakeFirst()
  return place !== undefined
}
