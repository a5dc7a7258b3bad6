/** Of Node, and of PostgreSQL: it stops, has stopped, starts, broke the connection or has too many of them. */
const AWAY = new Set(['ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT', 'EPIPE', '57P01', '57P02', '57P03', '08006', '53300'])
/** SQLITE_BUSY, SQLITE_IOERR, SQLITE_FULL. */
const LOCKED_OR_FULL = new Set([5, 10, 13])
/** What `pg` says of a connection that is no more carries no code. */
const BROKEN = /Connection terminated|timeout exceeded when trying to connect|not queryable/

/** Whether a statement failed because the database could not be reached or written for now: the same may work later. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, errcode = 0 } = error as Error & { code?: string; errcode?: number }
  if ((code !== undefined && AWAY.has(code)) || LOCKED_OR_FULL.has(errcode & 0xff)) return true
  return BROKEN.test(error.message)
}
