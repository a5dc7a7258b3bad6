import { type Dialect, PostgresDialect } from 'kysely'

/** PostgreSQL 15 or newer. `url`: `postgres://user:password@host:port/database`. */
export function postgresDialect(url: string, connections: number): Dialect {
  return new PostgresDialect({
    pool: async () => {
      const { default: pg } = await import('pg')
      // `bigint` holds our instants and counts, all of them below 2^53; by default it would arrive as text.
      pg.types.setTypeParser(pg.types.builtins.INT8, Number)
      const pool = new pg.Pool({
        connectionString: url,
        max: connections,
        connectionTimeoutMillis: 5_000,
        application_name: 'zonewatch',
      })
      // A connection that breaks, idle or in use, is replaced at the next use; without listeners it would end the process.
      pool.on('error', () => {})
      pool.on('connect', (client) => client.on('error', () => {}))
      return pool
    },
  })
}
