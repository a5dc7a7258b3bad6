import type { MonitorQuery } from '#contract/monitors.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { countMonitors, findGroupRow, getDefaultGroupId, resolveGroups } from '../groups/store.ts'
import { listPage, type Page } from '../http/pages.ts'
import { newId } from '../ids.ts'
import { conflict, invalid, notFound } from '../problem.ts'
import type { Seal } from '../seal.ts'
import type { MonitorDraft, MonitorRow } from './monitor.ts'
import { parseNameFilter } from './names.ts'
import { slotOf } from './schedule.ts'

export type MonitorWithGroup = MonitorRow & { group_slug: string }

const ORDERS = {
  created: { column: 'monitors.id' },
  domain: { column: 'monitors.domain' },
  subdomain: { column: 'monitors.subdomain' },
  record_type: { column: 'monitors.record_type' },
  state: { column: 'monitors.state' },
  last_checked: { column: 'due_checks.last_checked_at', isNullable: true },
  incidence_count: { column: 'monitors.incidence_count' },
}

/** Throws a 400 for a filter or cursor that cannot be used. A group that does not exist has no monitors. */
export async function listMonitors(
  db: Database,
  seal: Seal,
  organizationId: string,
  query: Omit<MonitorQuery, 'include'>,
): Promise<Page<MonitorWithGroup>> {
  const { after, before, limit, order_by, order_way, group, ...filters } = query
  const name = parseNameFilter(filters)
  if (!name.ok) throw invalid(name.problems)
  const groupId = group === undefined ? undefined : ((await findGroupRow(db, organizationId, group))?.id ?? '')

  let base = selectMonitors(db).where('monitors.organization_id', '=', organizationId)
  if (groupId !== undefined) base = base.where('monitors.group_id', '=', groupId)
  if (name.filter.owner !== undefined) base = base.where('monitors.owner', '=', name.filter.owner)
  if (name.filter.domain !== undefined) base = base.where('monitors.domain', '=', name.filter.domain)
  if (name.filter.subdomain !== undefined) base = base.where('monitors.subdomain', '=', name.filter.subdomain)
  if (filters.state !== undefined) base = base.where('monitors.state', '=', filters.state)
  if (filters.record_type !== undefined) base = base.where('monitors.record_type', '=', filters.record_type)
  if (filters.is_active !== undefined) base = base.where('monitors.is_active', '=', filters.is_active ? 1 : 0)
  return await listPage<MonitorWithGroup>(base as never, {
    seal,
    query,
    id: 'monitors.id',
    orders: ORDERS,
    scope: [
      'monitors',
      organizationId,
      groupId ?? null,
      name.filter,
      filters.state,
      filters.record_type,
      filters.is_active,
    ],
  })
}

/** Throws `not_found` when the monitor does not exist or is another organization's. */
export async function getMonitor(db: Database, organizationId: string, id: string): Promise<MonitorWithGroup> {
  const row = await selectMonitors(db)
    .where('monitors.organization_id', '=', organizationId)
    .where('monitors.id', '=', id)
    .executeTakeFirst()
  if (!row) throw notFound()
  return row as MonitorWithGroup
}

/** Makes all of them or none. Groups are made where a slug is unknown. Their first checks are due at once. */
export async function insertMonitors(
  db: Database,
  organizationId: string,
  drafts: readonly MonitorDraft[],
  now: number,
): Promise<string[]> {
  return await inTransaction(db, async (transaction) => {
    const named = drafts.flatMap(({ group }) => (group === null ? [] : [group]))
    const groups = await resolveGroups(transaction, organizationId, named, now)
    const defaultGroup = await getDefaultGroupId(transaction, organizationId)
    const counts = new Map<string, number>()
    const rows = drafts.map((draft) => {
      const groupId = draft.group === null ? defaultGroup : groups.get(draft.group)
      if (groupId === undefined) throw invalid({ group: GROUP_RULE })
      counts.set(groupId, (counts.get(groupId) ?? 0) + 1)
      return { id: newId('mon', now), groupId, draft }
    })
    for (let from = 0; from < rows.length; from += INSERT_BATCH) {
      await insertRows(transaction, organizationId, rows.slice(from, from + INSERT_BATCH), now)
    }
    for (const [groupId, count] of counts) await countMonitors(transaction, organizationId, groupId, count)
    return rows.map(({ id }) => id)
  })
}

/** Its events go with it; webhook requests already made are still delivered. Throws `not_found`. */
export async function deleteMonitor(db: Database, organizationId: string, id: string): Promise<void> {
  await inTransaction(db, async (transaction) => {
    const deleted = await transaction
      .deleteFrom('monitors')
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .returning(['group_id', 'slot'])
      .executeTakeFirst()
    if (!deleted) throw notFound()
    await transaction.deleteFrom('due_checks').where('slot', '=', deleted.slot).where('monitor_id', '=', id).execute()
    await countMonitors(transaction, organizationId, deleted.group_id, -1)
  })
}

/** Makes a monitor due now, outside its schedule. A check that is under way is done again. Throws 409 when disabled. */
export async function checkSoon(
  db: Database,
  organizationId: string,
  id: string,
  now: number,
): Promise<MonitorWithGroup> {
  const monitor = await getMonitor(db, organizationId, id)
  if (monitor.is_active === 0) throw conflict('This monitor is disabled and is not checked; enable it first.')
  await db
    .updateTable('due_checks')
    .set({ due_at: now, claimed_by: null })
    .where('slot', '=', monitor.slot)
    .where('monitor_id', '=', id)
    .execute()
  return monitor
}

const GROUP_RULE =
  "must be a group's id, or a slug of lower-case letters, digits and single hyphens (1 to 100 characters)."

/** Rows in one statement; both engines bound the number of parameters. */
const INSERT_BATCH = 500

type NewRow = { id: string; groupId: string; draft: MonitorDraft }

async function insertRows(db: Database, organizationId: string, rows: NewRow[], now: number): Promise<void> {
  const common = ({ id, draft }: NewRow) => ({
    organization_id: organizationId,
    slot: slotOf(id),
    owner: draft.owner,
    record_type: draft.recordType,
    is_exact_match: draft.isExactMatch ? (1 as const) : (0 as const),
    frequency: draft.frequency,
  })
  await db
    .insertInto('monitors')
    .values(
      rows.map((row) => ({
        ...common(row),
        id: row.id,
        group_id: row.groupId,
        created_at: now,
        domain: row.draft.domain,
        subdomain: row.draft.subdomain,
        expected_values: JSON.stringify(row.draft.expectedValues),
        is_active: row.draft.isActive ? 1 : 0,
        notify: row.draft.notify,
        state: 'UNSET',
        incidence_count: 0,
      })),
    )
    .execute()
  await db
    .insertInto('due_checks')
    .values(
      rows.map((row) => ({
        ...common(row),
        monitor_id: row.id,
        due_at: row.draft.isActive ? now : null,
        streak: 0,
        doubts: 0,
      })),
    )
    .execute()
}

/** A monitor's `last_checked` stands beside its place in the schedule; the slot finds it by primary key. */
function selectMonitors(db: Database) {
  return db
    .selectFrom('monitors')
    .innerJoin('due_checks', (join) =>
      join.onRef('due_checks.slot', '=', 'monitors.slot').onRef('due_checks.monitor_id', '=', 'monitors.id'),
    )
    .innerJoin('groups', 'groups.id', 'monitors.group_id')
    .selectAll('monitors')
    .select(['due_checks.last_checked_at', 'groups.slug as group_slug'])
}
