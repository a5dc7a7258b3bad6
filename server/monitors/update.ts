import type { MonitorChange } from '#contract/monitors.ts'
import { recordAudit } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { isOneOf, type TableColumns, updateAnyAtOnce } from '../database/bulk.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import { getTenantRow, lockOrganization } from '../database/tenant-row.ts'
import { type Match, nextVersion, refuseStale } from '../database/versions.ts'
import { externalIdTaken, findIdsByExternalId, MONITOR_LABELS, replaceLabels } from '../groups/labels.ts'
import { adjustMonitorCounts, resolveGroups, UNKNOWN_GROUP, unknownGroupErrors } from '../groups/resolve.ts'
import { type FieldErrors, invalid } from '../problem.ts'
import { toIso } from '../times.ts'
import { findWait, restartWaits, startWaits, stopWait, type WaitSettings, waitDeadline } from '../waits/waits.ts'
import { leaveIncidents } from './incident-membership.ts'
import { auditOf, type MonitorRow, monitorLabel } from './monitor.ts'
import { parseChange } from './parse-monitor.ts'
import { type MonitorUpdate, rescheduleChecks } from './schedule.ts'
import { recordStateChanges } from './state-days.ts'
import { lockMonitor } from './store.ts'

/** Throws `not_found`, a 412, and a 400 with the errors of the change and those that the schema found. */
export async function updateMonitor(
  db: Database,
  context: RequestContext,
  id: string,
  change: MonitorChange,
  {
    schemaErrors = {},
    match,
    waits,
    keepsWait = false,
  }: { schemaErrors?: FieldErrors | undefined; match?: Match; waits?: WaitSettings; keepsWait?: boolean } = {},
): Promise<void> {
  await inTransaction(db, async (transaction) => {
    // Requests that use the same external id wait for each other.
    if (typeof change.external_id === 'string') await lockOrganization(transaction, context.organizationId)
    const row = await lockMonitor(transaction, context, id)
    const parsed = parseChange(row, change)
    const errors = { ...(parsed.ok ? {} : parsed.errors), ...schemaErrors }
    if (!parsed.ok || Object.keys(errors).length > 0) {
      throw invalid({ ...errors, ...(await unknownGroupErrors(transaction, context, { group: change.group })) })
    }
    refuseStale(row, match)
    const { changed } = parsed
    const group = changed.group === null ? undefined : await resolveGroup(transaction, context, changed.group)
    const isMoved = group !== undefined && group.id !== row.group_id
    const wait = await updateWait(transaction, context, id, change, {
      settings: waits,
      isKept: keepsWait && !changed.resetsState,
    })
    const { columns } = changed
    const columnNames = [...Object.keys(columns), ...(isMoved ? ['group_id'] : []), ...(wait ? ['until'] : [])]
    if (columnNames.length === 0) return
    if (columns.external_id) {
      const taken = await findIdsByExternalId(transaction, context, 'monitors', [columns.external_id])
      if (taken.size > 0) throw externalIdTaken(['external_id'])
    }
    const groupId = isMoved ? group.id : undefined
    await updateMonitors(transaction, context, [{ row, changed, groupId, checkAt: context.now }], context.now)
    const slugBefore = isMoved ? (await getTenantRow(transaction, 'groups', context, row.group_id)).slug : undefined
    const before = auditOf(row, slugBefore, wait?.before)
    const after = auditOf({ ...row, ...columns } as MonitorRow, isMoved ? group.slug : undefined, wait?.after)
    const action = auditActionOf(columnNames, after.is_active)
    await recordAudit(transaction, context, { action, object: { id, label: monitorLabel(row) }, before, after })
  })
}

async function resolveGroup(db: Database, context: RequestContext, idOrSlug: string) {
  const group = (await resolveGroups(db, context, new Set([idOrSlug]))).get(idOrSlug)
  if (!group) throw invalid({ group: UNKNOWN_GROUP })
  return group
}

/**
 * Starts or stops the wait. Returns the change for the audit log, undefined if there is none. `isKept`: a wait that runs, or whose records
 * were found, stays as it is, also if its page was revoked.
 */
async function updateWait(
  db: Database,
  context: RequestContext,
  id: string,
  { until, setup_page }: MonitorChange,
  { settings, isKept }: { settings: WaitSettings | undefined; isKept: boolean },
) {
  if (until === undefined) return undefined
  const wait = await findWait(db, context, id)
  const isOpen = wait !== undefined && wait.ended_at === null
  const before = isOpen ? { until: 'valid', deadline: toIso(wait.deadline_at) } : { until: null }
  if (until === null) {
    if (!isOpen) return undefined
    await stopWait(db, context, id)
    return { before, after: { until: null } }
  }
  const isSamePage = setup_page === undefined || wait?.page_id === null || wait?.key === setup_page
  if (isKept && isSamePage && (isOpen || wait?.result === 'valid')) return undefined
  if (!settings) throw new Error('A monitor that waits needs a keyring for its link.')
  const pageId = wait?.page_id ?? null
  await startWaits(db, settings, context, [{ monitorId: id, key: setup_page ?? null, pageId, isOpen }])
  return { before, after: { until, deadline: waitDeadline(context.now), setup_page } }
}

export function auditActionOf(columns: readonly string[], isActive: boolean) {
  if (columns.some((column) => column !== 'is_active')) return 'monitor.updated'
  return isActive ? 'monitor.enabled' : 'monitor.disabled'
}

/** The existing rows, locked until the transaction ends, in the order of their ids. */
export async function lockMonitors(
  db: Database,
  { organizationId }: Tenant,
  ids: readonly string[],
): Promise<MonitorRow[]> {
  return await db
    .selectFrom('monitors')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'id', ids))
    .orderBy('id')
    .modifyEnd(forUpdate(db))
    .execute()
}

/** Writes the changes of monitors that are locked, with everything that follows from them except the audit log. */
export async function updateMonitors(
  db: Database,
  tenant: Tenant,
  updates: readonly MonitorUpdate[],
  now: number,
): Promise<void> {
  const { organizationId } = tenant
  await updateRows(db, tenant, updates)
  const relabelled = updates.filter(({ changed: { columns } }) => 'tags' in columns || 'metadata' in columns)
  const labelledRows = relabelled.map(({ row, changed }) => ({ ...row, ...changed.columns }) as MonitorRow)
  await replaceLabels(db, MONITOR_LABELS, labelledRows)
  await rescheduleChecks(db, updates, now)
  const left = updates.filter(({ changed }) => changed.resetsState || changed.columns.is_active === 0)
  await leaveIncidents(db, organizationId, idsOf(left), now)
  const reset = idsOf(updates.filter(({ changed }) => changed.resetsState))
  const unset = updates.filter(({ changed: { columns } }) => columns.state !== undefined)
  await recordStateChanges(
    db,
    unset.map(({ row }) => ({ monitor: row, at: now })),
  )
  await restartWaits(db, organizationId, reset, now)
  await cancelPlannedChanges(db, tenant, reset, now)
  const moves = updates.flatMap(({ row, groupId }): [string, number][] =>
    groupId === undefined
      ? []
      : [
          [row.group_id, -1],
          [groupId, 1],
        ],
  )
  await adjustMonitorCounts(db, tenant, moves)
}

const idsOf = (updates: readonly MonitorUpdate[]) => updates.map(({ row }) => row.id)

/** One statement for each set of changed columns, because each written column also writes its index. */
async function updateRows(db: Database, { organizationId }: Tenant, updates: readonly MonitorUpdate[]): Promise<void> {
  const changes = updates.map(({ row, changed, groupId }) => {
    const columns: Record<string, unknown> = { ...changed.columns, ...(groupId && { group_id: groupId }) }
    return { row, columns, names: Object.keys(columns).sort() }
  })
  for (const same of Map.groupBy(changes, ({ names }) => names.join()).values()) {
    const { names } = same[0]!
    const set = Object.fromEntries(
      names.map((name) => [name, NUMBER_COLUMNS[name as keyof typeof NUMBER_COLUMNS] ?? 'text']),
    )
    const rows = same.map(({ row, columns }) => ({
      id: row.id,
      organization_id: organizationId,
      new_version: 1,
      ...Object.fromEntries(names.map((name) => [`new_${name}`, columns[name]])),
    }))
    await updateAnyAtOnce(db, { table: 'monitors', key: ID, set, add: { version: 'bigint' } }, rows)
  }
}

const ID = { id: 'text', organization_id: 'text' } as const
/** The other columns are texts. */
const NUMBER_COLUMNS: TableColumns<'monitors'> = {
  is_exact_match: 'bigint',
  is_active: 'bigint',
  frequency: 'bigint',
  was_valid: 'bigint',
}

/** A planned change is based on the previous expectation. */
async function cancelPlannedChanges(
  db: Database,
  { organizationId }: Tenant,
  monitorIds: readonly string[],
  now: number,
): Promise<void> {
  if (monitorIds.length === 0) return
  await db
    .updateTable('planned_changes')
    .set({ outcome: 'CANCELED', closed_at: now, ...nextVersion })
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'monitor_id', monitorIds))
    .where('outcome', 'is', null)
    .execute()
}
