/** Node's codes: nothing responds at the address, or the connection broke. */
const UNREACHABLE = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'EPIPE',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
])
/**
 * Codes of PostgreSQL and PgBouncer: the connection broke (class 08), connections, disk or memory are exhausted (53), the server stops,
 * has stopped or starts (57P), its disk fails (58030), it is now a standby, which is read-only (25006), or the transaction was idle for
 * too long (25P03).
 */
const UNAVAILABLE = /^(08...|53...|57P0[1-5]|58030|25006|25P03)$/
/** SQLITE_BUSY, SQLITE_IOERR, SQLITE_FULL. */
const LOCKED_OR_FULL = new Set([5, 10, 13])
/** Messages of `pg` for a statement timeout and for a closed connection. These errors have no code. */
const TIMED_OUT = 'Query read timeout'
const BROKEN = /Connection terminated|timeout exceeded when trying to connect|not queryable|Connection ended/

const databaseErrors = new WeakSet<object>()

/** Errors of a network have the same codes whatever did not respond, so the database marks its own. */
export function markDatabaseError<T>(error: T): T {
  if (error instanceof Error) databaseErrors.add(error)
  return error
}

/** Whether the database threw the error. */
export function isDatabaseError(error: unknown): error is Error {
  if (!(error instanceof Error)) return false
  return databaseErrors.has(error) || (error as NodeJS.ErrnoException).code === 'ERR_SQLITE_ERROR'
}

/** Whether a statement failed because the database is currently unreachable or not writable, so that a retry may succeed. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, errcode = 0 } = error as Error & { code?: string; errcode?: number }
  if (code !== undefined && (UNREACHABLE.has(code) || UNAVAILABLE.test(code))) return true
  return LOCKED_OR_FULL.has(errcode & 0xff) || BROKEN.test(error.message) || isTimedOut(error)
}

/** Whether PostgreSQL aborted the transaction because of a deadlock. It can be retried at once. */
export function isDeadlock(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === '40P01'
}

/** Whether PostgreSQL did not respond in time. The statement may have succeeded. */
export function isTimedOut(error: unknown): boolean {
  return error instanceof Error && error.message === TIMED_OUT
}

/** Whether the database cannot be written, and may still be read: PostgreSQL is read-only (25006), or a disk is full. */
export function isNotWritable(error: unknown): boolean {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown }
  return code === '25006' || code === '53100' || errcode === SQLITE_FULL
}

/** Whether the file is damaged, or is no database: SQLITE_CORRUPT, SQLITE_NOTADB. */
export function isDamaged(error: unknown): boolean {
  return DAMAGED.has(Number((error as { errcode?: unknown } | null)?.errcode ?? 0) & 0xff)
}

const DAMAGED = new Set([11, 26])

/** What to do then. */
export const RESTORE_GOOD_BACKUP =
  'Stop the server, move the file and those beside it away, and restore the last good backup: zonewatch restore FILE.'

/** For what a read writes on the way: without it, the database can still be read. */
export function ignoreNotWritable(error: unknown): undefined {
  if (!isNotWritable(error)) throw error
}

const SQLITE_FULL = 13

/** Whether the connection leads to a former primary. A new connection may lead to the current one. */
export function isReadOnly(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === '25006'
}
