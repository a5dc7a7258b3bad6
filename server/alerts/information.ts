import type { Database } from '../database/database.ts'
import { newId } from '../ids.ts'
import { insertDue } from './alert-store.ts'
import type { Information } from './notice.ts'
import { mismatchOf, tagsOf } from './rule.ts'

type About = { organization_id: string; id: string; group_id: string; owner: string; record_type: string }
type Ended = Pick<Information, 'what' | 'expected' | 'before'>

/**
 * Tells people how a planned change or a wait ended, in the transaction that ends it: each channel once, by the rules that are about
 * the monitor and send recoveries.
 */
export async function informPeople(db: Database, monitor: About, ended: Ended, now: number): Promise<void> {
  const { organization_id, id, group_id, owner, record_type } = monitor
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
  const tags = (await tagsOf(db, organization_id, [id])).get(id) ?? []
  const failure = { groupId: group_id, name: owner, tags, recordType: record_type }
  const matching = rules.filter((rule) => mismatchOf(rule)(failure) === null)
  const byChannel = new Map(matching.toReversed().map((rule) => [rule.channel_id, rule.id]))
  const information: Information = { ...ended, monitorId: id, name: owner, recordType: record_type }
  const rows = [...byChannel].map(([channel_id, rule_id]) => ({
    ...{ organization_id, id: newId('alr', now), created_at: now, kind: 'recovered' as const, incident_id: null },
    ...{ rule_id, channel_id, status: 'PENDING' as const, next_attempt_at: now },
    information: JSON.stringify(information),
  }))
  if (rows.length === 0) return
  await db.insertInto('alerts').values(rows).execute()
  await insertDue(db, organization_id, rows, now)
}
