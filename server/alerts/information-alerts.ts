import type { Database } from '../database/database.ts'
import type { Information } from './alert-message.ts'
import { insertDue, newPendingAlert } from './alert-store.ts'
import { exclusionFinder, tagsByMonitor } from './rule-matching.ts'

type InformedMonitor = { organization_id: string; id: string; group_id: string; owner: string; record_type: string }

/**
 * Inserts an alert for each channel about the end of a planned change or a wait, by the rules that match the monitor and send
 * recoveries. Call it in the transaction that ends it.
 */
export async function insertInformationAlerts(
  db: Database,
  { organization_id, id: monitorId, group_id, owner, record_type }: InformedMonitor,
  ended: Pick<Information, 'what' | 'expected' | 'before'>,
  now: number,
): Promise<void> {
  const rules = await db
    .selectFrom('alert_rules')
    .innerJoin('alert_rule_channels', (join) =>
      join
        .onRef('alert_rule_channels.organization_id', '=', 'alert_rules.organization_id')
        .onRef('alert_rule_channels.rule_id', '=', 'alert_rules.id'),
    )
    .selectAll('alert_rules')
    .select('alert_rule_channels.channel_id')
    .where('alert_rules.organization_id', '=', organization_id)
    .where('alert_rules.is_active', '=', 1)
    .where('alert_rules.notifies_recovery', '=', 1)
    .orderBy('alert_rules.id')
    .execute()
  const tags = (await tagsByMonitor(db, organization_id, [monitorId])).get(monitorId) ?? []
  const monitor = { groupId: group_id, name: owner, tags, recordType: record_type }
  const matching = rules.filter((rule) => exclusionFinder(rule)(monitor) === null)
  // Of several rules with the same channel, the first sends the alert.
  const ruleByChannel = new Map(matching.toReversed().map((rule) => [rule.channel_id, rule.id]))
  const information: Information = { ...ended, monitorId, name: owner, recordType: record_type }
  const rows = [...ruleByChannel].map(([channelId, rule_id]) => ({
    ...newPendingAlert({ organizationId: organization_id, channelId, dueAt: now }, now),
    ...{ kind: 'recovered' as const, rule_id, information: JSON.stringify(information) },
  }))
  if (rows.length === 0) return
  await db.insertInto('alerts').values(rows).execute()
  await insertDue(db, organization_id, rows, now)
}
