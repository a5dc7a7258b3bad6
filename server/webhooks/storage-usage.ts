import { sql } from 'kysely'
import type { Database } from '../database/database.ts'

/** Bytes counted for a request in addition to its body: its row, indexes and queue entry. */
export const REQUEST_BYTES = 1_024

/** Adds to the stored bytes of organizations. Call it last in a transaction, so that all lock the rows in one order. */
export async function countStored(
  db: Database,
  differences: Iterable<readonly [organizationId: string, bytes: number]>,
): Promise<void> {
  const sums = new Map<string, number>()
  for (const [id, bytes] of differences) sums.set(id, (sums.get(id) ?? 0) + bytes)
  const rows = [...sums].filter(([, bytes]) => bytes !== 0).toSorted(([a], [b]) => (a < b ? -1 : 1))
  for (const [organization_id, bytes] of rows) {
    await sql`insert into webhook_storage (organization_id, octets) values (${organization_id}, ${Math.max(0, bytes)})
      on conflict (organization_id) do update set octets =
        case when webhook_storage.octets + ${bytes} < 0 then 0 else webhook_storage.octets + ${bytes} end`.execute(db)
  }
}
