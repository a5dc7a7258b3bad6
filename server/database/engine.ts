import { type QueryExecutorProvider, SqliteAdapter } from 'kysely'

export type Engine = 'sqlite' | 'postgres'

/** Only for this folder: `dialect.ts` has words for what the engines do differently. */
export function engineOf(db: QueryExecutorProvider): Engine {
  return db.getExecutor().adapter instanceof SqliteAdapter ? 'sqlite' : 'postgres'
}
