import type { AlertStatus } from '#contract/incidents.ts'
import { appendToAudit, newAuditId } from '../audit-log.ts'
import type { RequestContext } from '../context.ts'
import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { forUpdate, skipLocked } from '../database/dialect.ts'
import { getTenantRow } from '../database/tenant-row.ts'
import { lowestIdAt } from '../ids.ts'
import { toIso } from '../times.ts'
import { insertDue } from './alert-store.ts'

/** Alerts created from `since` until before `until`. */
type Period = { since: number; until: number; statuses: readonly AlertStatus[] }

/** The progress of a replay, stored as JSON. `auditId`: of its audit log entry. `from`: the last alert of the previous batch. */
export type AlertReplay = { period: Period; count: number; auditId: string; channel: string; from?: string | undefined }

/** Alerts that have a message. Summaries are not replayed, but the alerts that they combined are. */
export const REPLAYED_STATUSES = ['SENT', 'FAILED', 'RETRYING'] as const
const BATCH_SIZE = 200
/** Longer than a lease, so that no failure is sent after its recovery: some providers close the alert by the recovery. */
const RECOVERY_DELAY_MS = 2 * 60_000

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

/** Makes the next batch of alerts due, except those that are being sent. */
export async function replayAlertBatch(db: Database, context: RequestContext, channelId: string, replay: AlertReplay) {
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
    .limit(BATCH_SIZE)
    .modifyEnd(forUpdate(db))
    .execute()
  const beingSent = await findBeingSent(db, context, rows)
  const replayed = rows.filter(({ id }) => !beingSent.has(id))
  for (const [kind, delayMs] of [
    ['failing', 0],
    ['recovered', RECOVERY_DELAY_MS],
  ] as const) {
    const ids = replayed.filter((row) => row.kind === kind).map(({ id }) => id)
    const due = await db
      .updateTable('alerts')
      .set({ status: 'RETRYING', next_attempt_at: now + delayMs, retry_requested_at: now, progress: null, error: null })
      .where('organization_id', '=', organizationId)
      .where(isOneOf(db, 'id', ids))
      .returning(['id', 'next_attempt_at'])
      .execute()
    await insertDue(db, organizationId, due, now)
  }
  await appendToAudit(db, context, replay.auditId, {
    action: 'channel.alerts_replayed',
    object: { id: channelId, label: replay.channel },
    ids: replayed.map(({ id }) => id),
    after: { since: toIso(since), until: toIso(until), status: statuses },
  })
  const result: AlertReplay = { ...replay, count: replay.count + replayed.length, from: rows.at(-1)?.id ?? replay.from }
  return { result, isDone: rows.length < BATCH_SIZE }
}

/**
 * Locks the queue rows of the other alerts, so that no attempt begins before the transaction ends. Rows that another transaction has
 * locked are skipped: it records an attempt and locks the alert next, so waiting for it would be a deadlock.
 */
async function findBeingSent(
  db: Database,
  { organizationId, now }: RequestContext,
  alerts: readonly { id: string }[],
): Promise<Set<string>> {
  const ids = alerts.map(({ id }) => id)
  const due = db
    .selectFrom('due_alerts')
    .select(['alert_id', 'claimed_by', 'due_at'])
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'alert_id', ids))
  const unlocked = await due.modifyEnd(skipLocked(db)).execute()
  const idle = unlocked.filter(({ claimed_by, due_at }) => claimed_by === null || due_at === null || due_at <= now)
  const beingSent = new Set((await due.execute()).map(({ alert_id }) => alert_id))
  for (const { alert_id } of idle) beingSent.delete(alert_id)
  return beingSent
}
