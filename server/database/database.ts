import { CompiledQuery, Kysely, type LogEvent, type RawBuilder, SqliteAdapter, sql } from 'kysely'
import { postgresDialect } from './postgres.ts'
import type { Tables } from './schema.ts'
import { type ForEachQuery, sqliteDialect } from './sqlite.ts'
import { pathOf } from './url.ts'

export type Engine = 'sqlite' | 'postgres'

/** A database or a transaction in one: every store function takes it and works in both. */
export type Database = Kysely<Tables>

/** Is told how long each statement took, in milliseconds, and of each retry for SQLite's write lock. */
export type StatementObserver = { statement(ms: number, isFailed: boolean): void; busyRetry(): void }

/** A request must end when PostgreSQL hangs. As long as a lease, and longer than any statement takes but those of migrations. */
const TIMEOUT_MS = 60_000
/** No transaction of ours waits for anything but the database. */
const IDLE_MS = 10_000

/** Connections to PostgreSQL that a process opens at most, where nothing else is said. `doctor` adds them up. */
export const POOL_SIZE = 10

type OpenOptions = {
  /** PostgreSQL's, at most this many. */
  connections?: number
  /** After which a statement on PostgreSQL fails; 0: never. */
  timeoutMs?: number
  /** After which PostgreSQL ends a transaction that sends no statement; 0: never. */
  idleMs?: number
  observer?: StatementObserver
}

/** `url`: `sqlite:<path>` or `postgres://…`. Connects at the first statement, not here. */
export function openDatabase(
  url: string,
  { connections = POOL_SIZE, timeoutMs = TIMEOUT_MS, idleMs = IDLE_MS, observer }: OpenOptions = {},
): Database {
  const path = pathOf(url)
  const dialect =
    path === undefined
      ? postgresDialect(url, connections, { timeoutMs, idleMs })
      : sqliteDialect(path, () => observer?.busyRetry())
  if (!observer) return new Kysely<Tables>({ dialect })
  const log = ({ level, queryDurationMillis }: LogEvent) => observer.statement(queryDurationMillis, level === 'error')
  return new Kysely<Tables>({ dialect, log })
}

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
