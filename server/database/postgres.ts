import { type Dialect, PostgresDialect } from 'kysely'
import type { PoolClient } from 'pg'
import { isReadOnly, isTimedOut, markDatabaseError } from './unavailable.ts'

/**
 * PostgreSQL 15 or newer. `url`: `postgres://user:password@host:port/database`. `timeoutMs`: the timeout of a statement; 0: none. It is
 * measured here, because after PostgreSQL's `statement_timeout` a commit that no standby has counts as successful. `idleMs`: PostgreSQL
 * ends a transaction that sends no statement for this long.
 */
export function postgresDialect(url: string, connections: number, { timeoutMs = 0, idleMs = 0 } = {}): Dialect {
  return new PostgresDialect({
    pool: async () => {
      const { default: pg } = await import('pg')
      // `bigint` holds instants and counts, which are below 2^53. By default it is returned as text.
      pg.types.setTypeParser(pg.types.builtins.INT8, Number)
      const pool = new pg.Pool({
        connectionString: url,
        max: connections,
        connectionTimeoutMillis: 5_000,
        query_timeout: timeoutMs,
        application_name: 'zonewatch',
        keepAlive: true,
        keepAliveInitialDelayMillis: 10_000,
      })
      // The pool replaces a broken connection. Without listeners its error would end the process.
      pool.on('error', () => {})
      pool.on('connect', (client) => {
        client.on('error', () => {})
        endUnusable(client, idleMs)
      })
      const connect = pool.connect.bind(pool) as () => Promise<PoolClient>
      const markedConnect = () => connect().catch((error: unknown) => Promise.reject(markDatabaseError(error)))
      pool.connect = markedConnect as typeof pool.connect // Kysely calls the variant that returns a promise
      return pool
    },
  })
}

/**
 * Ends connections that must not be reused: to a primary that became a standby, and after a timeout, because the late response would
 * be taken for that of the next statement. Limits idle transactions: the locks of a disconnected or frozen node would block all others
 * until TCP gives up, after hours. The limit is set in each transaction, because poolers keep no settings of sessions.
 */
function endUnusable(client: PoolClient, idleMs: number): void {
  const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>
  const begin = `begin; set local idle_in_transaction_session_timeout = ${idleMs}`
  const guarded = async (...args: unknown[]) => {
    try {
      return await (args[0] === 'begin' ? query(begin) : query(...args))
    } catch (error) {
      if (isReadOnly(error) || isTimedOut(error)) void client.end()
      throw markDatabaseError(error)
    }
  }
  client.query = guarded as typeof client.query // Kysely calls the variant that returns a promise
}
