import { type Database, forUpdate, inTransaction } from '../database/database.ts'
import { inSlices } from '../database/slices.ts'
import { type Match, nextVersion, refuseStale } from '../database/versions.ts'
import { conflict } from '../problem.ts'
import { lockLinks, replaceLinks } from './links.ts'
import { getDefaultGroup } from './resolve.ts'
import { countMonitors, getGroupRow } from './store.ts'

/**
 * Its monitors move to the default group, slice by slice, and then the group goes. Throws `not_found`, 412, and 409
 * for the default group itself.
 */
export async function deleteGroup(db: Database, organizationId: string, named: string, match?: Match): Promise<void> {
  const row = await getGroupRow(db, organizationId, named)
  const { id, is_default } = row
  if (is_default) throw conflict('The default group cannot be deleted; its monitors would have no group.')
  refuseStale(row, match)
  const target = (await getDefaultGroup(db, organizationId)).id
  const move = { organizationId, from: id, to: target }
  await inSlices(db, (transaction, _after, limit) => moveSome(transaction, move, limit))
  await inTransaction(db, async (transaction) => {
    await lockLinks(transaction, organizationId)
    // Whoever makes a monitor in it meanwhile was before us or finds no group.
    const groups = transaction.selectFrom('groups').select('version').where('organization_id', '=', organizationId)
    const last = await groups.where('id', '=', id).modifyEnd(forUpdate(transaction)).executeTakeFirst()
    if (last) refuseStale(last, match)
    await moveSome(transaction, move, MOST_LATE)
    await replaceLinks(transaction, { organizationId, side: 'group', id, wanted: new Map() })
    await transaction.deleteFrom('groups').where('organization_id', '=', organizationId).where('id', '=', id).execute()
  })
}

/** Monitors that can come between the last slice and the lock: more than the requests of that moment make. */
const MOST_LATE = 100_000

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
  await countMonitors(db, organizationId, [
    [from, -ids.length],
    [to, ids.length],
  ])
  return ids
}

/** Both engines bound the number of parameters. */
const STATEMENT = 500
