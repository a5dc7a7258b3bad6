import { type RawBuilder, type Selectable, sql, type UpdateObject } from 'kysely'
import { MAX_LIST_IDS } from '#contract/common.ts'
import { fieldError } from '#contract/field-errors.ts'
import type { Tenant } from '../context.ts'
import { conflict, type FieldErrors, notFound } from '../problem.ts'
import { isOneOf } from './bulk.ts'
import type { Database } from './database.ts'
import { engineOf } from './engine.ts'
import type { Tables } from './schema.ts'

type TenantTable = {
  [T in keyof Tables]: Tables[T] extends { id: unknown; organization_id: unknown } ? T : never
}[keyof Tables]

/** Throws `not_found`, also for a row of another organization. `lock`: `forUpdate` if the row is read for a change. */
export async function getTenantRow<T extends TenantTable>(
  db: Database,
  table: T,
  tenant: Tenant,
  id: string,
  lock = sql``,
): Promise<Selectable<Tables[T]>> {
  const row = await findTenantRow(db, table, tenant, id, lock)
  if (!row) throw notFound()
  return row
}

export async function findTenantRow<T extends TenantTable>(
  db: Database,
  table: T,
  { organizationId }: Tenant,
  id: string | null,
  lock = sql``,
): Promise<Selectable<Tables[T]> | undefined> {
  const { rows } = await sql<Selectable<Tables[T]>>`select * from ${sql.table(table)}
    where organization_id = ${organizationId} and id = ${id} ${lock}`.execute(db)
  return rows[0]
}

const MAX_ERRORS = 100

/** Which of the ids are those of rows of the organization. */
export async function existingIds(
  db: Database,
  table: TenantTable,
  { organizationId }: Tenant,
  ids: readonly string[],
): Promise<ReadonlySet<unknown>> {
  if (ids.length === 0) return new Set()
  const { rows } = await sql<{ id: string }>`select id from ${sql.table(table)}
    where organization_id = ${organizationId} and ${isOneOf(db, 'id', ids)}`.execute(db)
  return new Set(rows.map(({ id }) => id))
}

/** Errors for the entries of a list of ids, such as `monitors`, that are not ids of rows, at most 100. The list may hold anything. */
export async function unknownIdErrors(
  db: Database,
  table: 'monitors' | 'webhooks' | 'channels',
  tenant: Tenant,
  list: unknown,
): Promise<FieldErrors> {
  const entries: unknown[] = Array.isArray(list) ? list.slice(0, MAX_LIST_IDS) : []
  const known = await existingIds(
    db,
    table,
    tenant,
    entries.filter((entry) => typeof entry === 'string'),
  )
  const error = fieldError('unknown_reference', { resource: table.slice(0, -1) })
  const unknown = entries.flatMap((entry, index) => (known.has(entry) ? [] : [[`${table}.${index}`, error] as const]))
  return Object.fromEntries(unknown.slice(0, MAX_ERRORS))
}

export async function updateTenantRow<T extends TenantTable>(
  db: Database,
  table: T,
  { organizationId }: Tenant,
  id: string,
  set: UpdateObject<Tables, T, T>,
): Promise<void> {
  await db
    .updateTable<TenantTable>(table)
    .set(set as never)
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .execute()
}

export async function deleteTenantRow(
  db: Database,
  table: TenantTable,
  { organizationId }: Tenant,
  id: string,
): Promise<void> {
  await db.deleteFrom(table).where('organization_id', '=', organizationId).where('id', '=', id).execute()
}

/**
 * For resources with a limit per organization: only one transaction at a time can add some. SQLite has one writer anyway. In PostgreSQL
 * this lock does not block inserts of other rows that reference the organization.
 */
export async function lockOrganization(db: Database, organizationId: string): Promise<void> {
  if (engineOf(db) === 'sqlite') return
  await sql`select id from organizations where id = ${organizationId} for no key update`.execute(db)
}

/** Locks the organization, and throws 409 if it has `max` rows in the table. `things`: their name, for the message. `counted`: which rows count. */
export async function refuseAtLimit(
  db: Database,
  table: TenantTable,
  { organizationId }: Tenant,
  {
    max,
    things,
    counted = sql`true`,
    remedy = 'Delete one first.',
  }: { max: number; things: string; counted?: RawBuilder<unknown>; remedy?: string },
): Promise<void> {
  await lockOrganization(db, organizationId)
  const { rows } = await sql`select 1 as one from ${sql.table(table)}
    where organization_id = ${organizationId} and ${counted} limit ${max}`.execute(db)
  if (rows.length === max)
    throw conflict(`Limit reached: an organization has at most ${max} ${things}. ${remedy}`, undefined, 'limit_reached')
}

export async function organizationName(db: Database, organizationId: string): Promise<string> {
  const { name } = await db
    .selectFrom('organizations')
    .select('name')
    .where('id', '=', organizationId)
    .executeTakeFirstOrThrow()
  return name
}
