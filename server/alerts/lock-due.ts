import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'

/**
 * Locks the alerts' rows in the queue, so that no attempt begins or is recorded before the transaction ends. The lock order of all
 * transactions is: incident, queue, alerts, channel.
 */
export async function lockDue(db: Database, organizationId: string, alertIds: readonly string[]): Promise<void> {
  await db
    .selectFrom('due_alerts')
    .select('alert_id')
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'alert_id', alertIds))
    .orderBy('alert_id')
    .modifyEnd(forUpdate(db))
    .execute()
}
