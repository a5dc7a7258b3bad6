import { CompiledQuery, Kysely, type RawBuilder, SqliteAdapter, sql } from 'kysely'
import { postgresDialect } from './postgres.ts'
import type { Tables } from './schema.ts'
import { FOR_EACH, sqliteDialect } from './sqlite.ts'
import { sqliteThreadDialect } from './sqlite-thread.ts'

export type Engine = 'sqlite' | 'postgres'

/** A database or a transaction in one: every store function takes it and works in both. */
export type Database = Kysely<Tables>

export type OpenOptions = {
  /** PostgreSQL: at most this many. SQLite has one. */
  connections?: number
  /** SQLite: for a server; see `sqlite-thread.ts`. */
  inThread?: boolean
}

/** `url`: `sqlite:<path>` or `postgres://…`. Connects at the first statement, not here. */
export function openDatabase(url: string, { connections = 10, inThread = false }: OpenOptions = {}): Database {
  if (!url.startsWith('sqlite:')) return new Kysely<Tables>({ dialect: postgresDialect(url, connections) })
  const path = url.slice('sqlite:'.length)
  return new Kysely<Tables>({ dialect: inThread ? sqliteThreadDialect(path) : sqliteDialect(path) })
}

export function engineOf(db: Database): Engine {
  return db.getExecutor().adapter instanceof SqliteAdapter ? 'sqlite' : 'postgres'
}

/** Runs `work` in one transaction, or in the one that `db` already is. */
export function inTransaction<T>(db: Database, work: (transaction: Database) => Promise<T>): Promise<T> {
  return db.isTransaction ? work(db) : db.transaction().execute(work)
}

/** Locks the rows that a claim selects against other claimers. SQLite has one writer and needs no such words. */
export function skipLocked(db: Database): RawBuilder<unknown> {
  return engineOf(db) === 'postgres' ? sql`for update skip locked` : sql``
}

/** Locks rows read for a change until the transaction ends. */
export function forUpdate(db: Database): RawBuilder<unknown> {
  return engineOf(db) === 'postgres' ? sql`for update` : sql``
}

/** SQLite only: runs one statement, with `?` for its parameters, once for each list of them. Returns how many rows each changed. */
export async function runForEach(
  db: Database,
  statement: string,
  lists: readonly (readonly unknown[])[],
): Promise<number[]> {
  const values: unknown[] = [] // not by flat(), whose array takes three times as long to copy to the thread
  for (const list of lists) values.push(...list)
  const parameters = [lists[0]?.length ?? 1, values]
  const { rows } = await db.executeQuery<{ changes: number[] }>(CompiledQuery.raw(FOR_EACH + statement, parameters))
  return rows[0]!.changes
}
