import type { MonitorChange } from '#contract/monitors.ts'
import { recordAudit } from '../audit-log.ts'
import type { RequestContext } from '../context.ts'
import { type Database, forUpdate, inTransaction } from '../database/database.ts'
import { lockOrganization } from '../database/tenant-row.ts'
import { type Match, nextVersion, refuseStale } from '../database/versions.ts'
import { externalIdTaken, findIdsByExternalId, MONITOR_LABELS, replaceLabels } from '../groups/labels.ts'
import { type GroupReference, getGroupSlug, resolveGroups, unknownGroupErrors } from '../groups/resolve.ts'
import { UNKNOWN_GROUP } from '../groups/slug.ts'
import { adjustMonitorCounts } from '../groups/store.ts'
import { isoOf } from '../http/times.ts'
import { type FieldErrors, invalid } from '../problem.ts'
import type { Seal } from '../seal.ts'
import { leaveIncidents } from './left-incidents.ts'
import { auditOf, type MonitorRow, monitorLabel } from './monitor.ts'
import { type ParsedChange, parseChange } from './parse-change.ts'
import { cancelPlannedChanges } from './planned-change.ts'
import { replan } from './schedule.ts'
import { lockMonitor } from './store.ts'
import { findWait, restartWaits, startWaits, stopWait, waitDeadline } from './waits.ts'

/** Throws `not_found`, a 400 with what the schema refused already and what the change itself has wrong, and a 412. */
export async function updateMonitor(
  db: Database,
  context: RequestContext,
  id: string,
  given: MonitorChange,
  { refused = {}, match, seal }: { refused?: FieldErrors | undefined; match?: Match; seal?: Seal } = {},
): Promise<void> {
  const { organizationId, now } = context
  await inTransaction(db, async (transaction) => {
    // Two that take one external id wait for each other.
    if (typeof given.external_id === 'string') await lockOrganization(transaction, organizationId)
    const row = await lockMonitor(transaction, context, id)
    const parsed = parseChange(row, given)
    const errors = { ...(parsed.ok ? {} : parsed.errors), ...refused }
    if (!parsed.ok || Object.keys(errors).length > 0) {
      throw invalid({ ...errors, ...(await unknownGroupErrors(transaction, context, { group: given.group })) })
    }
    refuseStale(row, match)
    const { changed } = parsed
    const group = changed.group === null ? null : await groupOf(transaction, context, changed.group)
    const groupId = group?.id ?? row.group_id
    const columns = groupId === row.group_id ? changed.columns : { ...changed.columns, group_id: groupId }
    const wait = await changeWait(transaction, context, id, given, seal)
    if (Object.keys(columns).length === 0 && !wait) return
    if (columns.external_id) {
      const taken = await findIdsByExternalId(transaction, context, 'monitors', [columns.external_id])
      if (taken.size > 0) throw externalIdTaken(['external_id'])
    }
    await transaction
      .updateTable('monitors')
      .set({ ...columns, ...nextVersion })
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .execute()
    await updatePlace(transaction, row, changed, now)
    if (columns.is_active === 0 || changed.resetsState) await leaveIncidents(transaction, organizationId, [id], now)
    if (changed.resetsState) {
      await restartWaits(transaction, organizationId, [id], now)
      await cancelPlannedChanges(transaction, context, [id], now)
    }
    if (columns.tags !== undefined || columns.metadata !== undefined) {
      await replaceLabels(transaction, MONITOR_LABELS, [{ ...row, ...columns } as MonitorRow])
    }
    const isMoved = groupId !== row.group_id
    const groupBefore = isMoved ? await getGroupSlug(transaction, context, row.group_id) : undefined
    const before = auditOf(row, groupBefore, wait?.before)
    const after = auditOf({ ...row, ...columns } as MonitorRow, isMoved ? group?.slug : undefined, wait?.after)
    const action = actionOf([...Object.keys(columns), ...(wait ? ['until'] : [])], after.is_active)
    await recordAudit(transaction, context, { action, object: { id, label: monitorLabel(row) }, before, after })
    if (!isMoved) return
    await adjustMonitorCounts(transaction, context, [
      [row.group_id, -1],
      [groupId, 1],
    ])
  })
}

/** What the change of `until` is in the audit log; undefined where it changes nothing. */
async function changeWait(
  db: Database,
  context: RequestContext,
  id: string,
  { until, setup_page }: MonitorChange,
  seal: Seal | undefined,
) {
  if (until === undefined) return undefined
  const wait = await findWait(db, context, id)
  const isOpen = wait !== undefined && wait.ended_at === null
  const before = isOpen ? { until: 'valid', deadline: isoOf(wait.deadline_at) } : { until: null }
  if (until === null) {
    if (!isOpen) return undefined
    await stopWait(db, context, id)
    return { before, after: { until: null } }
  }
  if (!seal) throw new Error('A monitor that waits needs a seal for its link.')
  await startWaits(db, seal, context, [{ monitorId: id, key: setup_page ?? null, pageId: wait?.page_id ?? null }])
  return { before, after: { until, deadline: waitDeadline(context.now), setup_page } }
}

export function actionOf(columns: readonly string[], isActive: boolean) {
  if (columns.some((column) => column !== 'is_active')) return 'monitor.updated'
  return isActive ? 'monitor.enabled' : 'monitor.disabled'
}

async function groupOf(db: Database, context: RequestContext, named: string): Promise<GroupReference> {
  const found = (await resolveGroups(db, context, new Set([named]))).get(named)
  if (!found) throw invalid({ group: UNKNOWN_GROUP })
  return found
}

/** The monitor's place in the schedule. A check that is in progress loses its claim, so that what it finds is discarded. */
async function updatePlace(db: Database, row: MonitorRow, changed: ParsedChange, now: number): Promise<void> {
  const { columns, resetsState, isActiveChanged, isReenabledFailing, isFrequencyChanged } = changed
  if (!resetsState && !isActiveChanged && !isFrequencyChanged) return
  const place = db.selectFrom('due_checks').select(['due_at', 'claimed_by']).where('slot', '=', row.slot)
  const current = await place.modifyEnd(forUpdate(db)).executeTakeFirstOrThrow()
  const isActive = (columns.is_active ?? row.is_active) === 1
  const frequency = columns.frequency ?? row.frequency
  const isAtOnce = resetsState || isActiveChanged
  await db
    .updateTable('due_checks')
    .set({
      owner: columns.owner ?? row.owner,
      record_type: columns.record_type ?? row.record_type,
      is_exact_match: columns.is_exact_match ?? row.is_exact_match,
      frequency,
      due_at: !isActive ? null : isAtOnce ? now : replan(current, { slot: row.slot, frequency }, now),
      claimed_by: null,
      ...(isReenabledFailing ? { fingerprint: null } : {}),
      ...(resetsState ? { fingerprint: null, streak: 0, inconclusive_count: 0, planned_change_id: null } : {}),
    })
    .where('slot', '=', row.slot)
    .execute()
}
