import { CompiledQuery, type Kysely, type RawBuilder, SqliteAdapter, sql } from 'kysely'
import type { Tables } from './schema.ts'
import type { ForEachQuery } from './sqlite.ts'

export type Engine = 'sqlite' | 'postgres'

/** A database or a transaction in one: every store function takes it and works in both. */
export type Database = Kysely<Tables>

export function engineOf(db: Database): Engine {
  return db.getExecutor().adapter instanceof SqliteAdapter ? 'sqlite' : 'postgres'
}

/** Runs `work` in one transaction, or in the one that `db` already is. */
export function inTransaction<T>(db: Database, work: (transaction: Database) => Promise<T>): Promise<T> {
  return db.isTransaction ? work(db) : db.transaction().execute(work)
}

/** Locks the rows that a claim selects (of one table) against other claimers. SQLite has one writer and needs no such words. */
export function skipLocked(db: Database, table?: keyof Tables): RawBuilder<unknown> {
  if (engineOf(db) === 'sqlite') return sql``
  return table === undefined ? sql`for update skip locked` : sql`for update of ${sql.table(table)} skip locked`
}

/** Locks rows read for a change until the transaction ends. */
export function forUpdate(db: Database): RawBuilder<unknown> {
  return engineOf(db) === 'postgres' ? sql`for update` : sql``
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
