import type { MonitorChange } from '#contract/monitors.ts'
import { recordAudit } from '../audit-log.ts'
import type { RequestContext } from '../context.ts'
import { type Database, forUpdate, inTransaction } from '../database/database.ts'
import { type Match, nextVersion, refuseStale } from '../database/versions.ts'
import { getGroupSlug, type NamedGroup, refuseUnknownIds, resolveGroups } from '../groups/resolve.ts'
import { NO_SUCH_GROUP } from '../groups/slug.ts'
import { countMonitors } from '../groups/store.ts'
import { type FieldErrors, invalid } from '../problem.ts'
import { type Changed, parseChange } from './change.ts'
import { auditOf, type MonitorRow, nameOf } from './monitor.ts'
import { replan } from './schedule.ts'
import { lockMonitor } from './store.ts'

/** Throws `not_found`, a 400 with what the schema refused already and what the change itself has wrong, and a 412. */
export async function updateMonitor(
  db: Database,
  context: RequestContext,
  id: string,
  given: MonitorChange,
  { refused = {}, match }: { refused?: FieldErrors | undefined; match?: Match } = {},
): Promise<void> {
  const { organizationId, now } = context
  await inTransaction(db, async (transaction) => {
    const row = await lockMonitor(transaction, context, id)
    const parsed = parseChange(row, given)
    const errors = { ...(parsed.ok ? {} : parsed.errors), ...refused }
    if (!parsed.ok || Object.keys(errors).length > 0) {
      throw invalid({ ...errors, ...(await refuseUnknownIds(transaction, context, { group: given.group })) })
    }
    refuseStale(row, match)
    const { changed } = parsed
    const group = changed.group === null ? null : await groupOf(transaction, context, changed.group)
    const groupId = group?.id ?? row.group_id
    const columns = groupId === row.group_id ? changed.columns : { ...changed.columns, group_id: groupId }
    if (Object.keys(columns).length === 0) return
    await transaction
      .updateTable('monitors')
      .set({ ...columns, ...nextVersion })
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .execute()
    await updatePlace(transaction, row, changed, now)
    const isMoved = groupId !== row.group_id
    const groupBefore = isMoved ? await getGroupSlug(transaction, context, row.group_id) : undefined
    const before = auditOf(row, groupBefore)
    const after = auditOf({ ...row, ...columns } as MonitorRow, isMoved ? group?.slug : undefined)
    const action = actionOf(Object.keys(columns), after.is_active)
    await recordAudit(transaction, context, { action, object: { id, label: nameOf(row) }, before, after })
    if (!isMoved) return
    await countMonitors(transaction, context, [
      [row.group_id, -1],
      [groupId, 1],
    ])
  })
}

function actionOf(columns: readonly string[], isActive: boolean) {
  if (columns.some((column) => column !== 'is_active')) return 'monitor.updated'
  return isActive ? 'monitor.enabled' : 'monitor.disabled'
}

async function groupOf(db: Database, context: RequestContext, named: string): Promise<NamedGroup> {
  const found = (await resolveGroups(db, context, new Set([named]))).get(named)
  if (!found) throw invalid({ group: NO_SUCH_GROUP })
  return found
}

/** The monitor's place in the schedule. A check that is in progress loses its claim, so that what it finds is discarded. */
async function updatePlace(db: Database, row: MonitorRow, changed: Changed, now: number): Promise<void> {
  const { columns, isNewQuestion, isSwitched, isReplanned } = changed
  if (!isNewQuestion && !isSwitched && !isReplanned) return
  const place = db.selectFrom('due_checks').select(['due_at', 'claimed_by']).where('slot', '=', row.slot)
  const current = await place.modifyEnd(forUpdate(db)).executeTakeFirstOrThrow()
  const isActive = (columns.is_active ?? row.is_active) === 1
  const frequency = columns.frequency ?? row.frequency
  const isAtOnce = isNewQuestion || isSwitched
  await db
    .updateTable('due_checks')
    .set({
      owner: columns.owner ?? row.owner,
      record_type: columns.record_type ?? row.record_type,
      is_exact_match: columns.is_exact_match ?? row.is_exact_match,
      frequency,
      due_at: !isActive ? null : isAtOnce ? now : replan(current, { slot: row.slot, frequency }, now),
      claimed_by: null,
      ...(isNewQuestion ? { fingerprint: null, streak: 0, doubts: 0 } : {}),
    })
    .where('slot', '=', row.slot)
    .execute()
}
