import type { GroupMonitorsChange } from '#contract/monitors.ts'
import { addToAudit, newAuditId } from '../audit-log.ts'
import type { RequestContext } from '../context.ts'
import { inBatches } from '../database/batches.ts'
import type { Database } from '../database/database.ts'
import type { GroupReference } from '../groups/resolve.ts'
import { lockMonitors, type MonitorUpdate, updateMonitors } from './change-many.ts'
import { isFailing } from './left-incidents.ts'
import type { ParsedChange } from './parse-change.ts'

/**
 * Changes all monitors of a group, slice by slice, so that nobody waits long. Repeating it changes nothing that is so
 * already, so an interrupted call is simply made again.
 */
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
    const { seen, changed } = await updateSlice(transaction, context, group.id, change, after, limit)
    await addToAudit(transaction, context, auditId, { ...audited, ids: changed })
    return seen
  })
}

async function updateSlice(
  db: Database,
  context: RequestContext,
  groupId: string,
  change: GroupMonitorsChange,
  after: string,
  limit: number,
): Promise<{ seen: string[]; changed: string[] }> {
  const { organizationId, now } = context
  const listed = await db
    .selectFrom('monitors')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('group_id', '=', groupId)
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute()
  const seen = listed.map(({ id }) => id)
  // One that has left the group meanwhile is not changed.
  const rows = (await lockMonitors(db, context, seen)).filter(({ group_id }) => group_id === groupId)
  const changes = rows.flatMap((row): MonitorUpdate[] => {
    const wanted = {
      is_active: change.is_active === undefined ? row.is_active : change.is_active ? (1 as const) : (0 as const),
      frequency: change.frequency ?? row.frequency,
      notify: change.notify ?? row.notify,
    }
    const names = (Object.keys(wanted) as (keyof typeof wanted)[]).filter((name) => wanted[name] !== row[name])
    if (names.length === 0) return []
    const columns = Object.fromEntries(names.map((name) => [name, wanted[name]]))
    const changed: ParsedChange = {
      ...{ columns, group: null, resetsState: false },
      ...{ isActiveChanged: names.includes('is_active'), isFrequencyChanged: names.includes('frequency') },
      isReenabledFailing: columns.is_active === 1 && isFailing(row.state),
    }
    return [{ row, changed, checkAt: now }]
  })
  await updateMonitors(db, context, changes, now)
  return { seen, changed: changes.map(({ row }) => row.id) }
}
