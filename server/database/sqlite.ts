import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { type Dialect, SqliteDialect } from 'kysely'

/** How many compiled statements are kept. The program has fewer texts than this but for its batches. */
const KEPT_STATEMENTS = 256

/** SQLite through `node:sqlite`. One connection: Kysely queues transactions and statements on it. */
export function sqliteDialect(path: string): Dialect {
  return new SqliteDialect({ database: async () => openSqlite(path) })
}

function openSqlite(path: string) {
  const database = new DatabaseSync(path, { timeout: 5_000, enableForeignKeyConstraints: true })
  database.exec(
    'pragma journal_mode = wal; pragma synchronous = normal; pragma cache_size = -65536; pragma temp_store = memory',
  )
  const statements = new Map<string, ReturnType<typeof asStatement>>()
  return {
    close: () => database.close(),
    prepare(text: string) {
      const kept = statements.get(text)
      if (kept) return kept
      // A deferred transaction that turns into a writer fails at once when another process wrote meanwhile.
      const statement = asStatement(database.prepare(text === 'begin' ? 'begin immediate' : text))
      if (statements.size >= KEPT_STATEMENTS) statements.delete(statements.keys().next().value!)
      statements.set(text, statement)
      return statement
    },
  }
}

function asStatement(statement: StatementSync) {
  const values = (parameters: readonly unknown[]) => parameters as SQLInputValue[]
  return {
    reader: statement.columns().length > 0,
    all: (parameters: readonly unknown[]) => statement.all(...values(parameters)),
    run: (parameters: readonly unknown[]) => statement.run(...values(parameters)),
    iterate: (parameters: readonly unknown[]) => statement.iterate(...values(parameters)),
  }
}
