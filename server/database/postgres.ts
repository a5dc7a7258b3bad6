import { type Dialect, PostgresDialect } from 'kysely'
import type { PoolClient } from 'pg'
import { isReadOnly, isTimedOut } from './unavailable.ts'

/**
 * PostgreSQL 15 or newer. `url`: `postgres://user:password@host:port/database`. `timeoutMs`: how long a statement waits for its
 * result; 0: without end. Measured here and not by PostgreSQL's `statement_timeout`, which reports a commit as successful that no
 * standby has. `idleMs`: after which PostgreSQL ends a transaction of a node from which it hears nothing.
 */
export function postgresDialect(url: string, connections: number, { timeoutMs = 0, idleMs = 0 } = {}): Dialect {
  return new PostgresDialect({
    pool: async () => {
      const { default: pg } = await import('pg')
      // `bigint` holds our instants and counts, all of them below 2^53; by default it would arrive as text.
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
      // A connection that breaks, idle or in use, is replaced at the next use; without listeners it would end the process.
      pool.on('error', () => {})
      pool.on('connect', (client) => {
        client.on('error', () => {})
        watch(client, idleMs)
      })
      return pool
    },
  })
}

/**
 * A primary that has become a standby keeps its connections, and one that hangs may answer the last statement when the next one
 * waits. A connection that is ended is not used again by the pool. The locks of a node that is cut off or frozen would hold up
 * all others until TCP gives up, after hours; the limit is set with each transaction because poolers keep no settings of sessions.
 */
function watch(client: PoolClient, idleMs: number): void {
  const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>
  const begin = `begin; set local idle_in_transaction_session_timeout = ${idleMs}`
  const watched = async (...args: unknown[]) => {
    try {
      return await (args[0] === 'begin' ? query(begin) : query(...args))
    } catch (error) {
      if (isReadOnly(error) || isTimedOut(error)) void client.end()
      throw error
    }
  }
  client.query = watched as typeof client.query // Kysely calls the form that answers with a promise
}
