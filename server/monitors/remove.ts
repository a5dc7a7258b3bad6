import { recordAudit } from '../audit-log.ts'
import type { RequestContext } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { type Match, refuseStale } from '../database/versions.ts'
import { getGroupSlug } from '../groups/resolve.ts'
import { countMonitors } from '../groups/store.ts'
import { yieldToEventLoop } from '../yield.ts'
import { leaveIncidents } from './left-incidents.ts'
import { auditOf, nameOf } from './monitor.ts'
import { deleteEmptyPages, pageIdsOf } from './setup-pages.ts'
import { lockMonitor } from './store.ts'

/** Events deleted in one transaction: with their evidence they are wide rows. */
const SLICE = 200

/**
 * Its events go with it; webhook requests already made are still delivered. A long history goes slice by slice before the
 * monitor does, so that nobody waits; anyone who is interrupted finds the monitor there and deletes it again. Throws `not_found` and 412.
 */
export async function deleteMonitor(db: Database, context: RequestContext, id: string, match?: Match): Promise<void> {
  const { organizationId } = context
  if (await hasLongHistory(db, organizationId, id)) {
    await stopChecks(db, context, id, match)
    while ((await deleteEvents(db, organizationId, id)) === SLICE) await yieldToEventLoop()
  }
  await inTransaction(db, async (transaction) => {
    const monitor = await lockMonitor(transaction, context, id)
    refuseStale(monitor, match)
    const pages = await pageIdsOf(transaction, context, [id])
    const deleted = await transaction
      .deleteFrom('monitors')
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .returning(['group_id', 'slot'])
      .executeTakeFirstOrThrow()
    await transaction.deleteFrom('due_checks').where('slot', '=', deleted.slot).execute()
    await deleteEmptyPages(transaction, context, pages)
    await leaveIncidents(transaction, organizationId, [id], context.now)
    await countMonitors(transaction, context, [[deleted.group_id, -1]])
    const before = auditOf(monitor, await getGroupSlug(transaction, context, deleted.group_id))
    await recordAudit(transaction, context, {
      action: 'monitor.deleted',
      object: { id, label: nameOf(monitor) },
      before,
    })
  })
}

async function hasLongHistory(db: Database, organizationId: string, monitorId: string): Promise<boolean> {
  const next = await someEvents(db, organizationId, monitorId).offset(SLICE).limit(1).executeTakeFirst()
  return next !== undefined
}

/** So that no check makes a further event meanwhile, and nobody is alerted if the deletion is interrupted. */
async function stopChecks(
  db: Database,
  { organizationId, now }: RequestContext,
  id: string,
  match: Match,
): Promise<void> {
  await inTransaction(db, async (transaction) => {
    const monitor = await lockMonitor(transaction, { organizationId }, id)
    refuseStale(monitor, match)
    await transaction
      .updateTable('monitors')
      .set({ is_active: 0 })
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .execute()
    await transaction
      .updateTable('due_checks')
      .set({ due_at: null, claimed_by: null })
      .where('slot', '=', monitor.slot)
      .execute()
    await leaveIncidents(transaction, organizationId, [id], now)
  })
}

async function deleteEvents(db: Database, organizationId: string, monitorId: string): Promise<number> {
  const some = someEvents(db, organizationId, monitorId).limit(SLICE)
  const { numDeletedRows } = await db.deleteFrom('events').where('id', 'in', some).executeTakeFirst()
  return Number(numDeletedRows)
}

function someEvents(db: Database, organizationId: string, monitorId: string) {
  return db
    .selectFrom('events')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('monitor_id', '=', monitorId)
    .orderBy('occurred_at')
    .orderBy('id')
}
