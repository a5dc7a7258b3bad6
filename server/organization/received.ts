import type { Tenant } from '../context.ts'
import type { Database } from '../database/database.ts'

/** Remembers that a channel or webhook, which is deleted now, has received something. */
export async function rememberReceived(db: Database, { organizationId }: Tenant): Promise<void> {
  await db
    .updateTable('organizations')
    .set({ has_received: 1 })
    .where('id', '=', organizationId)
    .where('has_received', '=', 0)
    .execute()
}
