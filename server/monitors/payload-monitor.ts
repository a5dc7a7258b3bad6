import type { PayloadMonitor } from '#contract/webhooks.ts'
import { isOneOf } from '../database/bulk.ts'
import type { Database } from '../database/database.ts'
import { toDifference, toReason } from './diagnosis.ts'

/** What payloads can include of monitors, by their ids, as they are in this transaction. Those that are gone are left out. */
export async function describeMonitors(db: Database, ids: readonly string[]): Promise<Map<string, PayloadMonitor>> {
  const rows = await db
    .selectFrom('monitors')
    .innerJoin('groups', 'groups.id', 'monitors.group_id')
    .select(['monitors.id', 'monitors.external_id', 'monitors.tags', 'monitors.metadata', 'monitors.diagnosis'])
    .select(['groups.id as group_id', 'groups.slug', 'groups.name', 'groups.external_id as group_external_id'])
    .where(isOneOf(db, 'monitors.id', ids))
    .execute()
  return new Map(
    rows.map((row) => [
      row.id,
      {
        external_id: row.external_id,
        tags: JSON.parse(row.tags),
        metadata: JSON.parse(row.metadata),
        group: { id: row.group_id, slug: row.slug, name: row.name, external_id: row.group_external_id },
        reason: toReason(row.diagnosis),
        difference: toDifference(row.diagnosis),
      },
    ]),
  )
}
