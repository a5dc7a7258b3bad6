import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'

/**
 * Notes that monitors fail no more because they are deleted, disabled or have another expectation: no event says so. In the
 * transaction that changes them. `alerts/evaluate.ts` takes them out of their incidents.
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
  if (numUpdatedRows === 0n) return
  // Written also where it is due already: an evaluation that is about to end waits for this transaction.
  await db
    .updateTable('due_evaluations')
    .set(({ fn, ref, val }) => ({ due_at: fn.coalesce(ref('due_at'), val(now)) }))
    .where('organization_id', '=', organizationId)
    .execute()
}
