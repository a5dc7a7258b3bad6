import { sql } from 'kysely'
import type { Timeline, TimelineRange } from '#contract/dashboard.ts'
import type { MonitorState } from '#contract/monitors.ts'
import type { Tenant } from '../context.ts'
import type { Database } from '../database/database.ts'
import { fromIndex } from '../database/index-hints.ts'
import type { Deps } from '../deps.ts'
import { INCLUDE_NOTHING } from '../monitors/monitor.ts'
import { getMonitor } from '../monitors/store.ts'
import { eventRetentionDays } from '../organization/quota.ts'
import { DAY_MS } from '../times.ts'
import { type StateChange, timelineOf } from './timeline.ts'

const LENGTH_MS: Record<TimelineRange, number> = {
  '24h': DAY_MS,
  '7d': 7 * DAY_MS,
  '30d': 30 * DAY_MS,
  '90d': 90 * DAY_MS,
}
/** A monitor that changes with every check has 26,000 events in 90 days. */
const BATCH_SIZE = 2_000

/** Throws `not_found`, also for another organization's monitor. */
export async function readTimeline(
  { db, clock, config }: Pick<Deps, 'db' | 'clock' | 'config'>,
  tenant: Tenant,
  id: string,
  range: TimelineRange,
): Promise<Timeline> {
  const { organizationId } = tenant
  const row = await getMonitor(db, tenant, id, INCLUDE_NOTHING)
  const days = await eventRetentionDays(db, config.plans, tenant)
  const now = clock.now()
  const from = now - LENGTH_MS[range]
  return timelineOf({
    from,
    now,
    monitor: { created: row.created_at, state: row.state as MonitorState, lastChecked: row.last_checked_at },
    before: await stateChangeBefore(db, organizationId, id, from),
    stateChanges: await stateChangesSince(db, organizationId, id, { from, now }),
    keptSince: days === null ? null : now - days * DAY_MS,
  })
}

async function stateChangeBefore(
  db: Database,
  organizationId: string,
  id: string,
  from: number,
): Promise<StateChange | undefined> {
  const row = await events(db, organizationId, id)
    .where('occurred_at', '<', from)
    .orderBy('occurred_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row && toStateChange(row)
}

async function stateChangesSince(
  db: Database,
  organizationId: string,
  id: string,
  { from, now }: { from: number; now: number },
): Promise<StateChange[]> {
  const stateChanges: StateChange[] = []
  for (let after = { occurred_at: from, id: '' }; ; ) {
    const rows = await events(db, organizationId, id)
      .where(sql<boolean>`(occurred_at, id) > (${after.occurred_at}, ${after.id})`)
      .where('occurred_at', '<=', now)
      .orderBy('occurred_at')
      .orderBy('id')
      .limit(BATCH_SIZE)
      .execute()
    stateChanges.push(...rows.map(toStateChange))
    if (rows.length < BATCH_SIZE) return stateChanges
    after = rows.at(-1)!
  }
}

function events(db: Database, organizationId: string, id: string) {
  return db
    .selectFrom(fromIndex(db, 'events', 'events_by_monitor'))
    .select(['id', 'occurred_at', 'old_state', 'new_state'])
    .where('organization_id', '=', organizationId)
    .where('monitor_id', '=', id)
}

type Row = { id: string; occurred_at: number; old_state: string; new_state: string }
const toStateChange = ({ id, occurred_at, old_state, new_state }: Row): StateChange => ({
  id,
  at: occurred_at,
  old: old_state as MonitorState,
  new: new_state as MonitorState,
})
