import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'

/** Call it in the transaction that writes events of these organizations, after the events. */
export async function evaluateSoon(db: Database, organizationIds: readonly string[], now: number): Promise<void> {
  if (organizationIds.length === 0) return
  await db
    .updateTable('due_evaluations')
    .set({ due_at: now })
    .where(isOneOf(db, 'organization_id', [...new Set(organizationIds)]))
    // Most organizations are due already. Their rows are neither written nor locked.
    .where('due_at', 'is', null)
    .execute()
}
