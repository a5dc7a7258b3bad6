import { recordAudit } from '../audit-log.ts'
import type { RequestContext } from '../context.ts'
import { inBatches } from '../database/batches.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import { deleteTenantRow, findTenantRow } from '../database/tenant-row.ts'
import { type Match, nextVersion, refuseStale } from '../database/versions.ts'
import { conflict } from '../problem.ts'
import { lockLinks, replaceLinks } from './links.ts'
import { adjustMonitorCounts, getDefaultGroup, getGroupRow } from './resolve.ts'

/** Other requests can add monitors between the last batch and the lock. */
const MAX_ATTEMPTS = 20

/**
 * Moves the group's monitors to the default group in batches, then deletes the group. Throws `not_found`, 412, and 409 for the
 * default group and for a group that receives monitors all the time.
 */
export async function deleteGroup(
  db: Database,
  context: RequestContext,
  idOrSlug: string,
  match?: Match,
): Promise<void> {
  const { organizationId } = context
  const { id } = await getDeletableGroup(db, context, idOrSlug, match)
  const defaultGroup = await getDefaultGroup(db, context)
  const move = { organizationId, from: id, to: defaultGroup.id }
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    await inBatches(db, (transaction, _after, limit) => moveBatch(transaction, move, limit))
    if (await deleteEmptyGroup(db, context, id, match)) return
  }
  throw groupBeingFilled()
}

/** Throws `not_found`, 412, and 409 for the default group. */
export async function getDeletableGroup(db: Database, context: RequestContext, idOrSlug: string, match: Match) {
  const row = await getGroupRow(db, context, idOrSlug)
  if (row.is_default) throw conflict('The default group cannot be deleted.', undefined, 'default_group')
  refuseStale(row, match)
  return row
}

export const groupBeingFilled = () =>
  conflict('The group cannot be deleted while monitors are being added to it. Try again in a moment.')

type Move = { organizationId: string; from: string; to: string }

async function moveBatch(db: Database, { organizationId, from, to }: Move, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('monitors')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('group_id', '=', from)
    .orderBy('id')
    .limit(limit)
    .modifyEnd(forUpdate(db))
    .execute()
  const ids = rows.map(({ id }) => id)
  for (let start = 0; start < ids.length; start += MAX_IDS_PER_STATEMENT) {
    await db
      .updateTable('monitors')
      .set({ group_id: to, ...nextVersion })
      .where('organization_id', '=', organizationId)
      .where('id', 'in', ids.slice(start, start + MAX_IDS_PER_STATEMENT))
      .execute()
  }
  await adjustMonitorCounts(db, { organizationId }, [
    [from, -ids.length],
    [to, ids.length],
  ])
  return ids
}

/** Both engines limit the number of parameters. */
const MAX_IDS_PER_STATEMENT = 500

/**
 * Returns false if the group has monitors. `deletedMonitors`: those that were deleted with it, for the audit log. Locks no monitor
 * after the group: a change of a monitor locks the monitor first.
 */
export async function deleteEmptyGroup(
  db: Database,
  context: RequestContext,
  id: string,
  match: Match,
  deletedMonitors: readonly string[] = [],
): Promise<boolean> {
  const { organizationId } = context
  return await inTransaction(db, async (transaction) => {
    await lockLinks(transaction, organizationId)
    // A transaction that adds a monitor holds the group's row until it commits, so the query below finds its monitor.
    const group = await findTenantRow(transaction, 'groups', context, id, forUpdate(transaction))
    if (group) refuseStale(group, match)
    const monitors = transaction.selectFrom('monitors').select('id').where('organization_id', '=', organizationId)
    if (await monitors.where('group_id', '=', id).limit(1).executeTakeFirst()) return false
    const webhooks = await replaceLinks(transaction, { organizationId, side: 'group', id, targets: new Map() })
    await deleteTenantRow(transaction, 'groups', context, id)
    if (group) {
      const before = { name: group.name, slug: group.slug, webhooks }
      const object = { id, label: group.name }
      await recordAudit(transaction, context, { action: 'group.deleted', object, before, ids: deletedMonitors })
    }
    return true
  })
}
