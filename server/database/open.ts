import { Kysely, type LogEvent } from 'kysely'
import type { Database } from './database.ts'
import { postgresDialect } from './postgres.ts'
import type { Tables } from './schema.ts'
import { sqliteDialect } from './sqlite.ts'
import { sqlitePathOf } from './url.ts'

/** `statement`: called after each statement. `busyRetry`: called at each retry for SQLite's write lock. */
export type StatementObserver = { statement(ms: number, isFailed: boolean): void; busyRetry(): void }

/** Ends requests if PostgreSQL hangs. As long as a lease, and longer than any statement except those of migrations. */
const TIMEOUT_MS = 60_000
/** Transactions wait only for the database. */
const IDLE_MS = 10_000

/** The default maximum of connections to PostgreSQL for each process. */
export const POOL_SIZE = 10

type OpenOptions = {
  /** The maximum of connections to PostgreSQL. */
  connections?: number
  /** The timeout of a statement on PostgreSQL; 0: none. */
  timeoutMs?: number
  /** PostgreSQL ends a transaction that sends no statement for this long; 0: never. */
  idleMs?: number
  observer?: StatementObserver
}

/** `url`: `sqlite:<path>` or `postgres://…`. Connects at the first statement, not here. */
export function openDatabase(
  url: string,
  { connections = POOL_SIZE, timeoutMs = TIMEOUT_MS, idleMs = IDLE_MS, observer }: OpenOptions = {},
): Database {
  const path = sqlitePathOf(url)
  const dialect =
    path === undefined
      ? postgresDialect(url, connections, { timeoutMs, idleMs })
      : sqliteDialect(path, () => observer?.busyRetry())
  if (!observer) return new Kysely<Tables>({ dialect })
  const log = ({ level, queryDurationMillis }: LogEvent) => observer.statement(queryDurationMillis, level === 'error')
  return new Kysely<Tables>({ dialect, log })
}
