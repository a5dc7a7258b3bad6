import { recordAudit } from '../audit-log.ts'
import type { RequestContext } from '../context.ts'
import { inBatches } from '../database/batches.ts'
import { type Database, forUpdate, inTransaction } from '../database/database.ts'
import { type Match, nextVersion, refuseStale } from '../database/versions.ts'
import { conflict } from '../problem.ts'
import { lockLinks, replaceLinks } from './links.ts'
import { getDefaultGroup } from './resolve.ts'
import { adjustMonitorCounts, getGroupRow } from './store.ts'

/** Others can put monitors into the group between the last slice and the lock. */
const MOST_ROUNDS = 20

/**
 * Moves the group's monitors to the default group, slice by slice, then deletes the group. Throws `not_found`, 412, and
 * 409 for the default group and for a group that others keep filling.
 */
export async function deleteGroup(db: Database, context: RequestContext, named: string, match?: Match): Promise<void> {
  const { organizationId } = context
  const { id } = await getDeletableGroup(db, context, named, match)
  const target = (await getDefaultGroup(db, context)).id
  const move = { organizationId, from: id, to: target }
  for (let round = 0; round < MOST_ROUNDS; round++) {
    await inBatches(db, (transaction, _after, limit) => moveSome(transaction, move, limit))
    if (await deleteEmptyGroup(db, context, id, match)) return
  }
  throw groupBeingFilled()
}

/** Throws `not_found`, 412, and 409 for the default group. */
export async function getDeletableGroup(db: Database, context: RequestContext, named: string, match: Match) {
  const row = await getGroupRow(db, context, named)
  if (row.is_default) throw conflict('The default group cannot be deleted.', undefined, 'default_group')
  refuseStale(row, match)
  return row
}

export const groupBeingFilled = () =>
  conflict('The group cannot be deleted while monitors are being added to it. Try again in a moment.')

/**
 * Returns false for a group that has monitors. `deleted`: those that it had, for the audit log. Locks no monitor while it holds the group, because anyone who changes a
 * monitor locks the monitor first and its groups second.
 */
export async function deleteEmptyGroup(
  db: Database,
  context: RequestContext,
  id: string,
  match: Match,
  deleted: readonly string[] = [],
): Promise<boolean> {
  const { organizationId } = context
  return await inTransaction(db, async (transaction) => {
    await lockLinks(transaction, organizationId)
    // A transaction that adds a monitor holds the group's row until it commits, so its monitor is found below.
    const groups = transaction
      .selectFrom('groups')
      .select(['name', 'slug', 'version'])
      .where('organization_id', '=', organizationId)
    const last = await groups.where('id', '=', id).modifyEnd(forUpdate(transaction)).executeTakeFirst()
    if (last) refuseStale(last, match)
    const monitors = transaction.selectFrom('monitors').select('id').where('organization_id', '=', organizationId)
    if (await monitors.where('group_id', '=', id).limit(1).executeTakeFirst()) return false
    const webhooks = await replaceLinks(transaction, { organizationId, side: 'group', id, wanted: new Map() })
    await transaction.deleteFrom('groups').where('organization_id', '=', organizationId).where('id', '=', id).execute()
    if (last) {
      const before = { name: last.name, slug: last.slug, webhooks }
      const object = { id, label: last.name }
      await recordAudit(transaction, context, { action: 'group.deleted', object, before, ids: deleted })
    }
    return true
  })
}

type Move = { organizationId: string; from: string; to: string }

async function moveSome(db: Database, { organizationId, from, to }: Move, limit: number): Promise<string[]> {
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
  for (let at = 0; at < ids.length; at += STATEMENT) {
    await db
      .updateTable('monitors')
      .set({ group_id: to, ...nextVersion })
      .where('organization_id', '=', organizationId)
      .where('id', 'in', ids.slice(at, at + STATEMENT))
      .execute()
  }
  await adjustMonitorCounts(db, { organizationId }, [
    [from, -ids.length],
    [to, ids.length],
  ])
  return ids
}

/** Both engines bound the number of parameters. */
const STATEMENT = 500
