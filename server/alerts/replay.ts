import { addToAudit, newAuditId } from '../audit-log.ts'
import type { RequestContext } from '../context.ts'
import { isOneOf } from '../database/bulk.ts'
import { type Database, forUpdate, skipLocked } from '../database/database.ts'
import type { AlertStatus } from '../database/schema-alerts.ts'
import { getTenantRow } from '../database/tenant-row.ts'
import { isoOf } from '../http/times.ts'
import { lowestIdAt } from '../ids.ts'
import { insertDue } from './alert-store.ts'

/** Alerts of a channel made from `since` up to, not including, `until`. */
type Period = { since: number; until: number; statuses: readonly AlertStatus[] }

/** How far a replay came. JSON. `auditId`: of its entry in the audit log. `from`: the last alert. */
export type AlertReplay = { period: Period; count: number; auditId: string; channel: string; from?: string | undefined }

/** Those that have a message. A summary is none of them: what it combined is sent again. */
export const REPLAYED_STATUSES = ['SENT', 'FAILED', 'RETRYING'] as const
const AT_ONCE = 200
/** Longer than a lease: no failure is sent after the recovery of its incident, which closes it in some channels. */
const RECOVERIES_AFTER_MS = 2 * 60_000

/** Throws `not_found`. */
export async function newAlertReplay(
  db: Database,
  context: RequestContext,
  channelId: string,
  period: Period,
): Promise<AlertReplay> {
  const { name } = await getTenantRow(db, 'channels', context, channelId)
  return { period, count: 0, auditId: newAuditId(context), channel: name }
}

/** Sends the next alerts of a period again, as `retryAlert` does for one, but for those that are being sent. `count`: how many there were so far. */
export async function replaySomeAlerts(db: Database, context: RequestContext, channelId: string, replay: AlertReplay) {
  const { organizationId, now } = context
  const { since, until, statuses } = replay.period
  const rows = await db
    .selectFrom('alerts')
    .select(['id', 'kind'])
    .where('organization_id', '=', organizationId)
    .where('channel_id', '=', channelId)
    .where('id', '>=', lowestIdAt('alr', since))
    .where('id', '<', lowestIdAt('alr', until))
    .where('id', '>', replay.from ?? '')
    .where('kind', 'in', ['failing', 'recovered'])
    .where('status', 'in', statuses)
    .orderBy('id')
    .limit(AT_ONCE)
    .modifyEnd(forUpdate(db))
    .execute()
  const sending = await beingSent(
    db,
    organizationId,
    rows.map(({ id }) => id),
    now,
  )
  const again = rows.filter(({ id }) => !sending.has(id))
  for (const [kind, afterMs] of [
    ['failing', 0],
    ['recovered', RECOVERIES_AFTER_MS],
  ] as const) {
    const ids = again.filter((row) => row.kind === kind).map(({ id }) => id)
    const due = await db
      .updateTable('alerts')
      .set({ status: 'RETRYING', next_attempt_at: now + afterMs, retry_requested_at: now, progress: null, error: null })
      .where('organization_id', '=', organizationId)
      .where(isOneOf(db, 'id', ids))
      .returning(['id', 'next_attempt_at'])
      .execute()
    await insertDue(db, organizationId, due, now)
  }
  await addToAudit(db, context, replay.auditId, {
    action: 'channel.alerts_replayed',
    object: { id: channelId, label: replay.channel },
    ids: again.map(({ id }) => id),
    after: { since: isoOf(since), until: isoOf(until), status: statuses },
  })
  const made: AlertReplay = { ...replay, count: replay.count + again.length, from: rows.at(-1)?.id ?? replay.from }
  return { made, isDone: rows.length < AT_ONCE }
}

/**
 * The others are locked, so that no attempt begins before the caller ends. One that another process has locked is being
 * recorded there, by a transaction that wants the alert itself next: waiting for that would be a deadlock.
 */
async function beingSent(
  db: Database,
  organizationId: string,
  ids: readonly string[],
  now: number,
): Promise<Set<string>> {
  const due = db
    .selectFrom('due_alerts')
    .select(['alert_id', 'claimed_by', 'due_at'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'alert_id', ids))
  const free = await due.modifyEnd(skipLocked(db)).execute()
  const idle = free.filter(({ claimed_by, due_at }) => claimed_by === null || due_at === null || due_at <= now)
  const sending = new Set((await due.execute()).map(({ alert_id }) => alert_id))
  for (const { alert_id } of idle) sending.delete(alert_id)
  return sending
}
