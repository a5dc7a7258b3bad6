import { sql } from 'kysely'
import { type Database, engineOf } from './database.ts'

/**
 * Lets one transaction at a time change what an organization may have only so much of. SQLite has one writer anyway;
 * in PostgreSQL the lock leaves other rows that refer to the organization free to come and go.
 */
export async function lockOrganization(db: Database, organizationId: string): Promise<void> {
  if (engineOf(db) === 'sqlite') return
  await sql`select id from organizations where id = ${organizationId} for no key update`.execute(db)
}
