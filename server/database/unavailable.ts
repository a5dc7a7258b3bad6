/** Of Node: nothing answers at the address, or the connection broke. */
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
 * Of PostgreSQL and of PgBouncer: the connection broke (class 08), connections, disk or memory are used up (53), it stops, has
 * stopped or starts (57P), its disk fails (58030), it is a standby now and takes no writes (25006), or it waited for the next
 * statement for too long (25P03).
 */
const AWAY = /^(08...|53...|57P0[1-5]|58030|25006|25P03)$/
/** SQLITE_BUSY, SQLITE_IOERR, SQLITE_FULL. */
const LOCKED_OR_FULL = new Set([5, 10, 13])
/** What `pg` says of a statement without a result in time, and of a connection that is closed, has no code. */
const TIMED_OUT = 'Query read timeout'
const BROKEN = /Connection terminated|timeout exceeded when trying to connect|not queryable|Connection ended/

/** Whether a statement failed because the database could not be reached or written for now: the same may work later. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, errcode = 0 } = error as Error & { code?: string; errcode?: number }
  if (code !== undefined && (UNREACHABLE.has(code) || AWAY.test(code))) return true
  return LOCKED_OR_FULL.has(errcode & 0xff) || BROKEN.test(error.message) || isTimedOut(error)
}

/** Whether PostgreSQL broke off one of two transactions that waited for each other: the same can be done again at once. */
export function isDeadlock(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === '40P01'
}

/** Whether PostgreSQL did not answer in time. What was to be written may be written or not. */
export function isTimedOut(error: unknown): boolean {
  return error instanceof Error && error.message === TIMED_OUT
}

/** Whether the connection itself leads to a server that is no primary any more: another connection may lead to the new one. */
export function isReadOnly(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === '25006'
}
