import type { AlertPreview, PreviewedRule } from '#contract/alerts.ts'
import type { MonitorState } from '#contract/monitors.ts'
import { recordName } from '#contract/wording.ts'
import type { RequestContext } from '../context.ts'
import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { lowestIdAt } from '../ids.ts'
import { DAY_MS, MINUTE_MS, toIso } from '../times.ts'
import { failureMatcher, tagsByMonitor } from './rule-matching.ts'
import { DEFAULT_DELAY_MINUTES, ruleFilters } from './rule-store.ts'

const DAYS = 30
const MAX_EVENTS = 2000
const MAX_FAILURES = 100

/** Failures of the last 30 days that match the rule and outlasted its delay, newest first. */
export async function previewRule(db: Database, context: RequestContext, rule: PreviewedRule): Promise<AlertPreview> {
  const { organizationId, now } = context
  const matches = failureMatcher(await ruleFilters(db, context, rule))
  const delayMs = (rule.delay ?? DEFAULT_DELAY_MINUTES) * MINUTE_MS
  const rows = await db
    .selectFrom('events')
    .select(['id', 'monitor_id', 'group_id', 'occurred_at', 'new_state', 'domain', 'subdomain', 'record_type'])
    .where('organization_id', '=', organizationId)
    .where('id', '>=', lowestIdAt('evt', now - DAYS * DAY_MS))
    .where(({ eb, lit }) => (rule.first_results ? eb(lit(1), '=', lit(1)) : eb('old_state', '=', 'VALID')))
    .where('new_state', '<>', 'VALID')
    .orderBy('id', 'desc')
    .limit(MAX_EVENTS + 1)
    .execute()
  const events = rows.slice(0, MAX_EVENTS)
  const monitorIds = [...new Set(events.map(({ monitor_id }) => monitor_id))]
  const tags = rule.tags == null ? new Map() : await tagsByMonitor(db, organizationId, monitorIds)
  const matching = events.filter((event) =>
    matches({
      groupId: event.group_id,
      name: recordName(event),
      tags: tags.get(event.monitor_id) ?? [],
      recordType: event.record_type,
      state: event.new_state,
    }),
  )
  const lasting = delayMs === 0 ? matching : await filterLasting(db, organizationId, matching, delayMs, now)
  const data = lasting.slice(0, MAX_FAILURES).map((event) => ({
    event_id: event.id,
    occurred: toIso(event.occurred_at),
    name: recordName(event),
    record_type: event.record_type,
    state: event.new_state as MonitorState,
  }))
  const is_complete = rows.length <= MAX_EVENTS && lasting.length <= MAX_FAILURES
  return { days: DAYS, is_complete, data }
}

/** Keeps the failures whose monitors did not recover within the delay. */
async function filterLasting<F extends { monitor_id: string; occurred_at: number }>(
  db: Database,
  organizationId: string,
  failures: readonly F[],
  delayMs: number,
  now: number,
): Promise<F[]> {
  const recoveries = await db
    .selectFrom('events')
    .select(['monitor_id', 'occurred_at'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'monitor_id', [...new Set(failures.map(({ monitor_id }) => monitor_id))]))
    .where('new_state', '=', 'VALID')
    .where('occurred_at', '>=', Math.min(now, ...failures.map(({ occurred_at }) => occurred_at)))
    .orderBy('occurred_at')
    .limit(MAX_EVENTS * 2)
    .execute()
  const byMonitor = Map.groupBy(recoveries, ({ monitor_id }) => monitor_id)
  return failures.filter(({ monitor_id, occurred_at }) => {
    if (occurred_at + delayMs > now) return false
    const recovery = byMonitor.get(monitor_id)?.find((event) => event.occurred_at > occurred_at)
    return recovery === undefined || recovery.occurred_at - occurred_at >= delayMs
  })
}
