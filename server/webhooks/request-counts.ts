import { sql } from 'kysely'
import type { KeptRequests } from '#contract/webhooks.ts'
import type { Tenant } from '../context.ts'
import type { Database } from '../database/database.ts'
import { getTenantRow } from '../database/tenant-row.ts'

const MOST_WAITING = 1_000

/** Throws `not_found`. */
export async function countKept(db: Database, tenant: Tenant, webhookId: string): Promise<KeptRequests> {
  const { dropped } = await getTenantRow(db, 'webhooks', tenant, webhookId)
  const { rows } = await sql<{ count: number }>`select count(*) as count from (
    select 1 as one from due_requests where webhook_id = ${webhookId} limit ${MOST_WAITING}) as waiting`.execute(db)
  return { waiting: Number(rows[0]!.count), dropped }
}
