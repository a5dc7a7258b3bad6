import type { RequestContext } from '../context.ts'
import type { Database } from '../database/database.ts'
import { newId } from '../ids.ts'

const DELAY_MS = 10 * 60_000

/** Every organization begins with an email to its owners when a monitor fails for 10 minutes, and when it recovers. */
export async function insertDefaultRule(db: Database, { organizationId, now }: RequestContext): Promise<void> {
  const common = { organization_id: organizationId, created_at: now }
  const [channelId, ruleId] = [newId('chn', now), newId('rul', now)]
  const settings = JSON.stringify({ owners: true, addresses: [] })
  await db.insertInto('due_evaluations').values({ organization_id: organizationId, after_event_id: '' }).execute()
  await db
    .insertInto('channels')
    .values({ ...common, id: channelId, name: 'Email to owners', type: 'email', settings })
    .execute()
  await db
    .insertInto('alert_rules')
    .values({ ...common, id: ruleId, name: 'All monitors', delay_ms: DELAY_MS })
    .execute()
  await db
    .insertInto('alert_rule_channels')
    .values({ organization_id: organizationId, rule_id: ruleId, channel_id: channelId })
    .execute()
}
