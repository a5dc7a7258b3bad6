import type { GroupMonitorsChange } from '#contract/monitors.ts'
import { addToAudit, newAuditId } from '../audit-log.ts'
import type { RequestContext } from '../context.ts'
import { inBatches } from '../database/batches.ts'
import { updateEach } from '../database/bulk.ts'
import { type Database, forUpdate } from '../database/database.ts'
import type { NamedGroup } from '../groups/resolve.ts'
import { isFailing, leaveIncidents } from './left-incidents.ts'
import { replan } from './schedule.ts'

/**
 * Changes all monitors of a group, slice by slice, so that nobody waits long. Repeating it changes nothing that is so
 * already, so an interrupted call is simply made again.
 */
export async function updateGroupMonitors(
  db: Database,
  context: RequestContext,
  group: NamedGroup,
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
  { organizationId, now }: RequestContext,
  groupId: string,
  change: GroupMonitorsChange,
  after: string,
  limit: number,
): Promise<{ seen: string[]; changed: string[] }> {
  const rows = await lockSlice(db, organizationId, groupId, after, limit)
  const changed = rows.flatMap((row) => {
    const is_active = change.is_active === undefined ? row.is_active : change.is_active ? 1 : 0
    const wanted = { is_active, frequency: change.frequency ?? row.frequency, notify: change.notify ?? row.notify }
    const isSwitched = wanted.is_active !== row.is_active
    const isReplanned = wanted.frequency !== row.frequency
    return isSwitched || isReplanned || wanted.notify !== row.notify ? [{ row, wanted, isSwitched, isReplanned }] : []
  })
  const switched = changed.filter(({ isSwitched }) => isSwitched)
  const monitors = changed.map(({ row, wanted }) => ({
    id: row.id,
    organization_id: organizationId,
    new_frequency: wanted.frequency,
    new_notify: wanted.notify,
    new_version: 1,
  }))
  const set = { frequency: 'bigint', notify: 'text' } as const
  await updateEach(db, { table: 'monitors', key: ID, set, add: { version: 'bigint' } }, monitors)
  await updateEach(
    db,
    { table: 'monitors', key: ID, set: { is_active: 'bigint' } },
    switched.map(({ row, wanted }) => ({
      id: row.id,
      organization_id: organizationId,
      new_is_active: wanted.is_active,
    })),
  )
  const disabled = switched.filter(({ wanted }) => wanted.is_active === 0).map(({ row }) => row.id)
  await leaveIncidents(db, organizationId, disabled, now)
  const places = changed.filter(({ isSwitched, isReplanned }) => isSwitched || isReplanned)
  await updateEach(
    db,
    { table: 'due_checks', key: PLACE, set: { due_at: 'bigint', claimed_by: 'bigint', frequency: 'bigint' } },
    places.map(({ row, wanted, isSwitched }) => ({
      slot: row.slot,
      new_due_at: wanted.is_active === 0 ? null : isSwitched ? now : replan(row, { ...row, ...wanted }, now),
      new_claimed_by: null,
      new_frequency: wanted.frequency,
    })),
  )
  const returning = switched.filter(({ row, wanted }) => wanted.is_active === 1 && isFailing(row.state))
  await updateEach(
    db,
    { table: 'due_checks', key: PLACE, set: { fingerprint: 'bigint' } },
    returning.map(({ row }) => ({ slot: row.slot, new_fingerprint: null })),
  )
  return { seen: rows.map(({ id }) => id), changed: changed.map(({ row }) => row.id) }
}

const ID = { id: 'text', organization_id: 'text' } as const
const PLACE = { slot: 'bigint' } as const

/** The monitors and their places. In two statements, so that monitors are locked before any place, as checks lock them. */
async function lockSlice(db: Database, organizationId: string, groupId: string, after: string, limit: number) {
  const rows = await db
    .selectFrom('monitors')
    .select(['id', 'slot', 'is_active', 'frequency', 'notify', 'state'])
    .where('organization_id', '=', organizationId)
    .where('group_id', '=', groupId)
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .modifyEnd(forUpdate(db))
    .execute()
  if (rows.length === 0) return []
  const places = await db
    .selectFrom('due_checks')
    .select(['monitor_id', 'due_at', 'claimed_by'])
    .where(
      'slot',
      'in',
      rows.map(({ slot }) => slot),
    )
    .modifyEnd(forUpdate(db))
    .execute()
  const placeOf = new Map(places.map((place) => [place.monitor_id, place]))
  return rows.map((row) => ({ ...row, ...placeOf.get(row.id)! }))
}
