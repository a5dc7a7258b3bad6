import { type Selectable, sql } from 'kysely'
import type { Tenant } from '../context.ts'
import { notFound } from '../problem.ts'
import { type Database, engineOf } from './database.ts'
import type { Tables } from './schema.ts'

type TenantTable = {
  [T in keyof Tables]: Tables[T] extends { id: unknown; organization_id: unknown } ? T : never
}[keyof Tables]

/**
 * The row of the caller's organization. Throws `not_found`, also for a row of another organization. `lock`: `forUpdate` where it is read
 * for a change.
 */
export async function getTenantRow<T extends TenantTable>(
  db: Database,
  table: T,
  { organizationId }: Tenant,
  id: string,
  lock = sql``,
): Promise<Selectable<Tables[T]>> {
  const { rows } = await sql<Selectable<Tables[T]>>`select * from ${sql.table(table)}
    where organization_id = ${organizationId} and id = ${id} ${lock}`.execute(db)
  if (!rows[0]) throw notFound()
  return rows[0]
}

/**
 * Lets one transaction at a time change what an organization may have only so much of. SQLite has one writer anyway;
 * in PostgreSQL the lock leaves other rows that refer to the organization free to come and go.
 */
export async function lockOrganization(db: Database, organizationId: string): Promise<void> {
  if (engineOf(db) === 'sqlite') return
  await sql`select id from organizations where id = ${organizationId} for no key update`.execute(db)
}
