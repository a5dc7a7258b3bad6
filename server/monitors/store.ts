import type { Tenant } from '../context.ts'
import { insertEachFree, isOneOf } from '../database/bulk.ts'
import { type Database, forUpdate } from '../database/database.ts'
import { findIdsByExternalId } from '../groups/labels.ts'
import { conflict, notFound } from '../problem.ts'
import { INCLUDE_EVERYTHING, type Inclusion, type MonitorResponseRow, type MonitorRow } from './monitor.ts'
import { SLOTS } from './schedule.ts'

/** The columns of `monitors` behind a representation; `diagnosis` is wide and read only where it is shown. */
export function columnsOf(included: Inclusion) {
  const isDiagnosisRead = included.diagnosis || included.reason || included.difference
  const extra = [...ADDED.filter((column) => included[column]), ...(isDiagnosisRead ? (['diagnosis'] as const) : [])]
  return [...SHOWN, ...extra].map((column) => `monitors.${column}` as const)
}

const ADDED = ['frequency', 'external_id', 'tags', 'metadata'] as const
const SHOWN = [
  'id',
  'created_at',
  'domain',
  'subdomain',
  'record_type',
  'expected_values',
  'current_values',
  'is_exact_match',
  'state',
  'incidence_count',
  'is_active',
  'notify',
  'version',
] as const

/** Throws `not_found` when the monitor does not exist or is another organization's. */
export async function getMonitor(
  db: Database,
  { organizationId }: Tenant,
  id: string,
  included: Inclusion = INCLUDE_EVERYTHING,
): Promise<MonitorResponseRow> {
  const row = await db
    .selectFrom('monitors')
    .innerJoin('due_checks', 'due_checks.slot', 'monitors.slot')
    .innerJoin('groups', 'groups.id', 'monitors.group_id')
    .select(columnsOf(included))
    .select(['due_checks.last_checked_at', 'groups.slug as group_slug'])
    .where('monitors.organization_id', '=', organizationId)
    .where('monitors.id', '=', id)
    .executeTakeFirst()
  if (!row) throw notFound()
  return row
}

/** By the id that the caller gave it. Throws `not_found`. */
export async function getIdByExternalId(db: Database, tenant: Tenant, externalId: string): Promise<string> {
  const id = (await findIdsByExternalId(db, tenant, 'monitors', [externalId])).get(externalId)
  if (id === undefined) throw notFound()
  return id
}

/** Those of the ids that there still are, in the order of the ids. */
export async function getMonitors(
  db: Database,
  { organizationId }: Tenant,
  ids: readonly string[],
  included: Inclusion,
): Promise<MonitorResponseRow[]> {
  const rows: MonitorResponseRow[] = await db
    .selectFrom('monitors')
    .innerJoin('due_checks', 'due_checks.slot', 'monitors.slot')
    .innerJoin('groups', 'groups.id', 'monitors.group_id')
    .select(columnsOf(included))
    .select(['due_checks.last_checked_at', 'groups.slug as group_slug'])
    .where('monitors.organization_id', '=', organizationId)
    .where(isOneOf(db, 'monitors.id', ids))
    .execute()
  const byId = new Map(rows.map((row) => [row.id, row]))
  return ids.flatMap((id) => byId.get(id) ?? [])
}

/** The whole row, locked until the transaction ends: a check that would record something waits. Throws `not_found`. */
export async function lockMonitor(db: Database, { organizationId }: Tenant, id: string): Promise<MonitorRow> {
  const row = await db
    .selectFrom('monitors')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .modifyEnd(forUpdate(db))
    .executeTakeFirst()
  if (!row) throw notFound()
  return row
}

/** Makes a monitor due now, outside its schedule. A check that is in progress is done again. Throws 409 when disabled. */
export async function checkNow(db: Database, { organizationId }: Tenant, id: string, now: number): Promise<void> {
  const monitor = await db
    .selectFrom('monitors')
    .select('slot')
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst()
  if (!monitor) throw notFound()
  const { numUpdatedRows } = await db
    .updateTable('due_checks')
    .set({ due_at: now, claimed_by: null })
    .where('slot', '=', monitor.slot)
    .where('due_at', 'is not', null)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) throw conflict('This monitor is disabled. Enable it first.', undefined, 'monitor_disabled')
}

/** What comes to each group, or goes from it. */
export function countsOf(rows: readonly Pick<MonitorRow, 'group_id'>[], difference: number): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { group_id } of rows) counts.set(group_id, (counts.get(group_id) ?? 0) + difference)
  return counts
}

/**
 * No two monitors have one slot: whose slot is taken gets the next free one. It is free when its row was inserted, whatever
 * another transaction inserts at this moment.
 */
export async function insertDueChecks(db: Database, rows: readonly NewDueCheck[], now: number): Promise<void> {
  let waiting = [...rows]
  while (waiting.length > 0) {
    // In the order of the key, so that two transactions do not wait for each other.
    waiting.sort((one, other) => one.slot - other.slot)
    const due = waiting.map((row) => ({
      ...row,
      monitor_id: row.id,
      due_at: row.is_active ? (row.due_at ?? now) : null,
    }))
    const placed = await insertEachFree(db, { table: 'due_checks', columns: DUE_CHECK, key: 'slot' }, due)
    waiting = waiting.filter((_, index) => !placed[index])
    for (const row of waiting) row.slot = (row.slot + 1) % SLOTS
  }
}

/** `due_at`: of the first check, where that is not now. */
type NewDueCheck = Pick<
  MonitorRow,
  'id' | 'organization_id' | 'slot' | 'is_active' | 'owner' | 'record_type' | 'is_exact_match' | 'frequency'
> & { due_at?: number }

export const MONITOR = {
  id: 'text',
  organization_id: 'text',
  group_id: 'text',
  created_at: 'bigint',
  domain: 'text',
  subdomain: 'text',
  owner: 'text',
  record_type: 'text',
  expected_values: 'text',
  is_exact_match: 'bigint',
  is_active: 'bigint',
  notify: 'text',
  frequency: 'bigint',
  state: 'text',
  slot: 'bigint',
  external_id: 'text',
  tags: 'text',
  metadata: 'text',
} as const

const DUE_CHECK = {
  slot: 'bigint',
  monitor_id: 'text',
  organization_id: 'text',
  due_at: 'bigint',
  owner: 'text',
  record_type: 'text',
  is_exact_match: 'bigint',
  frequency: 'bigint',
} as const
