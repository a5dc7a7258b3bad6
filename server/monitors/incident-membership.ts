import { sql } from 'kysely'
import type { MonitorState } from '#contract/monitors.ts'
import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'

export const isFailing = (state: string): boolean => state !== 'VALID' && state !== 'UNSET'
/** The same for active monitors in SQL: exactly the condition of the partial index in the migration. */
export const IS_FAILING = sql`is_active = 1 and state <> 'VALID' and state <> 'UNSET'`

export type FailingCounts = Partial<Record<MonitorState, number>>

/**
 * Marks monitors that no longer fail because they are deleted, disabled or have a new expectation, which causes no event. Call it in
 * the transaction of the change. `incidents/events-to-incidents.ts` then removes them from their incidents.
 */
export async function leaveIncidents(db: Database, organizationId: string, monitorIds: readonly string[], now: number) {
  if (monitorIds.length === 0) return
  const { numUpdatedRows } = await db
    .updateTable('incident_monitors')
    .set({ left_at: now })
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'monitor_id', monitorIds))
    .where('recovered_at', 'is', null)
    .executeTakeFirst()
  if (numUpdatedRows > 0n) await evaluateIncidents(db, organizationId, now)
}

/** Marks monitors that left their incidents and still fail, which causes no event. Call it in the transaction of the check. */
export async function returnToIncidents(
  db: Database,
  organizationId: string,
  monitorIds: readonly string[],
  now: number,
) {
  const { numUpdatedRows } = await db
    .updateTable('incident_monitors')
    .set({ returned_at: now })
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'monitor_id', monitorIds))
    .where('left_at', 'is not', null)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('incident_monitors as later')
            .select('later.monitor_id')
            .whereRef('later.organization_id', '=', 'incident_monitors.organization_id')
            .whereRef('later.monitor_id', '=', 'incident_monitors.monitor_id')
            .where('later.left_at', 'is not', null)
            .whereRef('later.event_id', '>', 'incident_monitors.event_id'),
        ),
      ),
    )
    .executeTakeFirst()
  if (numUpdatedRows > 0n) await evaluateIncidents(db, organizationId, now)
}

/** Makes the organization due for an evaluation of its incidents, in the transaction of the change. */
export async function evaluateIncidents(db: Database, organizationId: string, now: number): Promise<void> {
  // Updates the row even if it is due, so that an evaluation that is about to end waits for this transaction.
  await db
    .updateTable('due_evaluations')
    .set(({ fn, ref, val }) => ({ due_at: fn.coalesce(ref('due_at'), val(now)) }))
    .where('organization_id', '=', organizationId)
    .execute()
}
