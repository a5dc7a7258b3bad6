import type { JoinBuilder } from 'kysely'
import type { PayloadMonitor } from '#contract/webhooks.ts'
import type { Tenant } from '../context.ts'
import { isOneOf } from '../database/bulk.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { forUpdate } from '../database/dialect.ts'
import type { Tables } from '../database/schema.ts'
import { getTenantRow } from '../database/tenant-row.ts'
import { findIdsByExternalId } from '../groups/labels.ts'
import { conflict, notFound } from '../problem.ts'
import { describePages } from '../waits/setup-pages.ts'
import { toDifference, toReason } from './diagnosis.ts'
import { lastCheckedAt } from './last-round.ts'
import {
  INCLUDE_EVERYTHING,
  type Inclusion,
  type MonitorResponseRow,
  type MonitorRow,
  RESPONSE_COLUMNS,
} from './monitor.ts'
import { leaveRounds } from './rounds.ts'

/** The columns of `monitors` that a response needs. `diagnosis` is large and read only if the response has it. */
export function columnsOf(included: Inclusion) {
  const needsDiagnosis = included.diagnosis || included.reason || included.difference
  const optional = [
    ...OPTIONAL_COLUMNS.filter((column) => included[column]),
    ...(needsDiagnosis ? (['diagnosis'] as const) : []),
  ]
  return [...RESPONSE_COLUMNS, ...optional].map((column) => `monitors.${column}` as const)
}

const OPTIONAL_COLUMNS = ['frequency', 'resolution', 'external_id', 'tags', 'metadata'] as const

/** The condition of a join with `groups`: the group of the monitor. */
export const ofMonitor = (join: JoinBuilder<Pick<Tables, 'groups' | 'monitors'>, 'groups' | 'monitors'>) =>
  join.onRef('groups.organization_id', '=', 'monitors.organization_id').onRef('groups.id', '=', 'monitors.group_id')

/** Throws `not_found`, also for a monitor of another organization. */
export async function getMonitor(
  db: Database,
  tenant: Tenant,
  id: string,
  included: Inclusion = INCLUDE_EVERYTHING,
): Promise<MonitorResponseRow> {
  const row = await selectMonitors(db, tenant, included).where('monitors.id', '=', id).executeTakeFirst()
  if (!row) throw notFound()
  return row
}

/** The existing monitors, in the order of the ids. */
export async function getMonitors(
  db: Database,
  tenant: Tenant,
  ids: readonly string[],
  included: Inclusion,
): Promise<MonitorResponseRow[]> {
  const rows: MonitorResponseRow[] = await selectMonitors(db, tenant, included)
    .where(isOneOf(db, 'monitors.id', ids))
    .execute()
  const byId = new Map(rows.map((row) => [row.id, row]))
  return ids.flatMap((id) => byId.get(id) ?? [])
}

const selectMonitors = (db: Database, { organizationId }: Tenant, included: Inclusion) =>
  db
    .selectFrom('monitors')
    .innerJoin('due_checks', 'due_checks.slot', 'monitors.slot')
    .innerJoin('groups', ofMonitor)
    .select(columnsOf(included))
    .select([lastCheckedAt.as('last_checked_at'), 'groups.slug as group_slug'])
    .where('monitors.organization_id', '=', organizationId)

/** Locks the whole row until the transaction ends; a check that would write to it waits. Throws `not_found`. */
export const lockMonitor = (db: Database, tenant: Tenant, id: string): Promise<MonitorRow> =>
  getTenantRow(db, 'monitors', tenant, id, forUpdate(db))

/** Throws `not_found`. */
export async function getIdByExternalId(db: Database, tenant: Tenant, externalId: string): Promise<string> {
  const id = (await findIdsByExternalId(db, tenant, 'monitors', [externalId])).get(externalId)
  if (id === undefined) throw notFound()
  return id
}

/** Makes the check due now, outside its schedule, and repeats a check in progress. Throws `not_found`, and 409 if disabled. */
export async function checkNow(db: Database, tenant: Tenant, id: string, now: number): Promise<void> {
  const { slot } = await getTenantRow(db, 'monitors', tenant, id)
  const { numUpdatedRows } = await inTransaction(db, async (transaction) => {
    await leaveRounds(transaction, [slot], now)
    return await transaction
      .updateTable('due_checks')
      .set({ due_at: now, claimed_by: null })
      .where('slot', '=', slot)
      .where('due_at', 'is not', null)
      .executeTakeFirst()
  })
  if (numUpdatedRows === 0n) throw conflict('This monitor is disabled. Enable it first.', undefined, 'monitor_disabled')
}

/** What webhook payloads can include, by the ids of the monitors that still exist in this transaction. */
export async function describeMonitors(
  db: Database,
  { organizationId }: Tenant,
  ids: readonly string[],
): Promise<Map<string, PayloadMonitor>> {
  const rows = await db
    .selectFrom('monitors')
    .innerJoin('groups', ofMonitor)
    .select(['monitors.id', 'monitors.external_id', 'monitors.tags', 'monitors.metadata', 'monitors.diagnosis'])
    .select(['groups.id as group_id', 'groups.slug', 'groups.name', 'groups.external_id as group_external_id'])
    .where('monitors.organization_id', '=', organizationId)
    .where(isOneOf(db, 'monitors.id', ids))
    .execute()
  const pages = await describePages(db, { organizationId }, ids)
  return new Map(
    rows.map((row) => [
      row.id,
      {
        external_id: row.external_id,
        tags: JSON.parse(row.tags),
        metadata: JSON.parse(row.metadata),
        group: { id: row.group_id, slug: row.slug, name: row.name, external_id: row.group_external_id },
        reason: toReason(row.diagnosis),
        difference: toDifference(row.diagnosis),
        setup_page: pages.get(row.id) ?? null,
      },
    ]),
  )
}
