import { Kysely, type LogEvent } from 'kysely'
import type { Database } from './database.ts'
import { postgresDialect } from './postgres.ts'
import type { Tables } from './schema.ts'
import { sqliteDialect } from './sqlite.ts'
import { sqlitePathOf } from './url.ts'

/** Called with the duration of each statement in milliseconds, and at each retry for SQLite's write lock. */
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
  const path = sqlitePathOf(url)
  const dialect =
    path === undefined
      ? postgresDialect(url, connections, { timeoutMs, idleMs })
      : sqliteDialect(path, () => observer?.busyRetry())
  if (!observer) return new Kysely<Tables>({ dialect })
  const log = ({ level, queryDurationMillis }: LogEvent) => observer.statement(queryDurationMillis, level === 'error')
  return new Kysely<Tables>({ dialect, log })
}
