import { CompiledQuery, type Kysely } from 'kysely'
import type { Tables } from './schema.ts'
import type { ForEachQuery } from './sqlite.ts'

/** A database or a transaction in one: every store function takes it and works in both. */
export type Database = Kysely<Tables>

/** Runs `work` in one transaction, or in the one that `db` already is. */
export function inTransaction<T>(db: Database, work: (transaction: Database) => Promise<T>): Promise<T> {
  return db.isTransaction ? work(db) : db.transaction().execute(work)
}

/**
 * SQLite only: runs one statement, with `?` for its parameters, once for each list of them, all or nothing. Returns how many
 * rows each changed.
 */
export async function runForEach(
  db: Database,
  statement: string,
  lists: readonly (readonly unknown[])[],
): Promise<number[]> {
  const query: ForEachQuery = { ...CompiledQuery.raw(statement), lists }
  const { rows } = await db.executeQuery<{ changes: number[] }>(query)
  return rows[0]!.changes
}
