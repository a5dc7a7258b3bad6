import type { GroupMonitorsChange } from '#contract/monitors.ts'
import { appendToAudit, newAuditId } from '../audit-log.ts'
import type { RequestContext } from '../context.ts'
import { inBatches } from '../database/batches.ts'
import type { Database } from '../database/database.ts'
import type { GroupReference } from '../groups/resolve.ts'
import { changeOf } from './parse-monitor.ts'
import type { MonitorUpdate } from './schedule.ts'
import { lockMonitors, updateMonitors } from './update.ts'

/** Updates the monitors of a group in batches. If it is interrupted, the same request can be repeated. */
export async function updateGroupMonitors(
  db: Database,
  context: RequestContext,
  group: GroupReference,
  change: GroupMonitorsChange,
): Promise<void> {
  if (Object.keys(change).length === 0) return
  const audited = {
    action: 'group.monitors_updated',
    object: { id: group.id, label: group.slug },
    after: change,
  } as const
  const auditId = newAuditId(context)
  await inBatches(db, async (transaction, after, limit) => {
    const { read, updated } = await updateBatch(transaction, context, group.id, change, after, limit)
    await appendToAudit(transaction, context, auditId, { ...audited, ids: updated })
    return read
  })
}

async function updateBatch(
  db: Database,
  context: RequestContext,
  groupId: string,
  change: GroupMonitorsChange,
  after: string,
  limit: number,
): Promise<{ read: string[]; updated: string[] }> {
  const { organizationId, now } = context
  const monitors = await db
    .selectFrom('monitors')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('group_id', '=', groupId)
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute()
  const read = monitors.map(({ id }) => id)
  // A monitor can leave the group before it is locked.
  const rows = (await lockMonitors(db, context, read)).filter(({ group_id }) => group_id === groupId)
  const updates = rows.flatMap((row): MonitorUpdate[] => {
    const { frequency = row.frequency, notify = row.notify } = change
    const is_active = change.is_active === undefined ? row.is_active : change.is_active ? 1 : 0
    const changed = changeOf(row, { is_active, frequency, notify }, { resetsState: false, group: null })
    return Object.keys(changed.columns).length === 0 ? [] : [{ row, changed, checkAt: now }]
  })
  await updateMonitors(db, context, updates, now)
  return { read, updated: updates.map(({ row }) => row.id) }
}
