import { sql } from 'kysely'
import { FINDING_LEVELS, type FindingLevel, type ZoneHealth } from '#contract/zone-codes.ts'
import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { MINUTE_MS } from '../times.ts'
import { lockDue } from './lock-due.ts'

/** A further message follows when an incident has ten times the monitors of the last one: at most one for each digit of their number. */
const FACTOR = 10
const MIN_ADDED = 10
/** Later than the last message, because a failure that spreads grows on. */
export const GROWTH_PAUSE_MS = 5 * MINUTE_MS

/** `announced`: how many monitors the last message said; null if there is none, or an older version sent it. */
export const hasGrown = (announced: number | null, monitors: number): boolean =>
  announced !== null && monitors >= announced * FACTOR && monitors >= announced + MIN_ADDED

export const rankOf = (level: ZoneHealth | null): number => FINDING_LEVELS.indexOf(level as FindingLevel)

/** Whether a zone is worse than the last message said. An incident of monitors was announced as an error. */
export const hasRisen = (announced: ZoneHealth | null, level: ZoneHealth | null): boolean =>
  rankOf(level) > rankOf(announced ?? 'error')

/** Makes the sent alerts of incidents due that have grown since their last message. */
export async function makeGrownDue(
  db: Database,
  organizationId: string,
  incidentIds: readonly string[],
  now: number,
): Promise<void> {
  if (incidentIds.length === 0) return
  const sent = await db
    .selectFrom('alerts')
    .innerJoin('incidents', (join) =>
      join
        .onRef('incidents.organization_id', '=', 'alerts.organization_id')
        .onRef('incidents.id', '=', 'alerts.incident_id'),
    )
    .select(['alerts.id', 'alerts.sent_at', 'alerts.next_attempt_at', 'alerts.channel_id'])
    .select(['alerts.announced_monitors', 'incidents.monitors'])
    .where('alerts.organization_id', '=', organizationId)
    .where(isOneOf(db, 'alerts.incident_id', [...new Set(incidentIds)]))
    .where('alerts.kind', '=', 'failing')
    .where('alerts.status', '=', 'SENT')
    .where('incidents.resolved_at', 'is', null)
    .where('incidents.acknowledged_at', 'is', null)
    .execute()
  const due = sent.flatMap(({ id, sent_at, next_attempt_at, channel_id, announced_monitors, monitors }) => {
    const due_at = Math.max(now, (sent_at ?? 0) + GROWTH_PAUSE_MS)
    const isLater = next_attempt_at === null || next_attempt_at > due_at
    if (!isLater || !hasGrown(announced_monitors, monitors)) return []
    return [{ organization_id: organizationId, alert_id: id, channel_id, due_at }]
  })
  if (due.length === 0) return
  const ids = due.map(({ alert_id }) => alert_id)
  await lockDue(db, organizationId, ids)
  for (const { alert_id, due_at } of due)
    await db
      .updateTable('alerts')
      .set({ next_attempt_at: due_at })
      .where('organization_id', '=', organizationId)
      .where('id', '=', alert_id)
      .where('status', '=', 'SENT')
      .execute()
  await db
    .insertInto('due_alerts')
    .values(due)
    .onConflict((conflict) =>
      conflict
        .columns(['organization_id', 'alert_id'])
        .doUpdateSet((set) => ({ due_at: set.ref('excluded.due_at') }))
        // An alert that is being sent finds the growth itself when its attempt is recorded.
        .where('due_alerts.claimed_by', 'is', null)
        .where(sql<boolean>`(due_alerts.due_at is null or due_alerts.due_at > excluded.due_at)`),
    )
    .execute()
}
