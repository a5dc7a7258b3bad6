import { type DatabaseConnection, type Dialect, type Driver, Kysely, type LogEvent, sql } from 'kysely'
import type { Database } from '../database/database.ts'
import type { Engine } from '../database/engine.ts'
import { postgresDialect } from '../database/postgres.ts'
import type { Tables } from '../database/schema.ts'
import { sqliteDialect } from '../database/sqlite.ts'
import { migratedDatabaseUrl } from './database.ts'

/**
 * Tests use these databases one after the other, emptied in between. Creating one on PostgreSQL costs a hundred times as
 * much.
 */
type Shared = {
  url: string
  dialect: Dialect
  driver: Driver
  /** Connections that the test has not released. */
  inUse: number
  drop(): Promise<void>
}

/** The unused databases of this worker. */
const idle: Record<Engine, Shared[]> = { sqlite: [], postgres: [] }

/** Without vacuum PostgreSQL slows down after so many deleted rows. SQLite frees its pages. */
const MAX_DELETED_ROWS: Record<Engine, number> = { sqlite: Number.POSITIVE_INFINITY, postgres: 2_000 }
const CONNECTIONS = 10
const LOCK_TIMEOUT_MS = 5_000

/** A migrated database without rows. The test destroys `db` and then calls `release`. `log` receives each statement. */
export async function borrowDatabase(
  engine: Engine,
  log?: (event: LogEvent) => void,
): Promise<{ db: Database; url: string; release(): Promise<void> }> {
  const shared = idle[engine].pop() ?? (await newShared(engine))
  return {
    db: new Kysely<Tables>({ dialect: borrowedDialect(shared), ...(log ? { log } : {}) }),
    url: shared.url,
    release: async () => {
      if (await deleteAllRows(shared, engine)) idle[engine].push(shared)
      else await drop(shared)
    },
  }
}

async function newShared(engine: Engine): Promise<Shared> {
  const { url, drop } = await migratedDatabaseUrl(engine)
  const dialect = engine === 'sqlite' ? sqliteDialect(url.slice('sqlite:'.length)) : postgresDialect(url, CONNECTIONS)
  const driver = dialect.createDriver()
  await driver.init()
  return { url, dialect, driver, inUse: 0, drop }
}

/** Returns false if the database cannot be reused, for example because the test left a lock or an open transaction. */
async function deleteAllRows(shared: Shared, engine: Engine): Promise<boolean> {
  if (shared.inUse > 0) return false
  const db = new Kysely<Tables>({ dialect: borrowedDialect(shared) })
  try {
    const rows = await db.transaction().execute((transaction) => DELETE_ALL_ROWS[engine](transaction))
    return rows <= MAX_DELETED_ROWS[engine] && shared.inUse === 0
  } catch {
    return false
  }
}

const DELETE_ALL_ROWS: Record<Engine, (db: Database) => Promise<number>> = {
  async sqlite(db) {
    await sql`pragma defer_foreign_keys = on`.execute(db)
    const { rows: tables } = await sql<{ name: string }>`select name from sqlite_schema
      where type = 'table' and name not in ('migrations', 'sqlite_schema') and name not like 'monitor_search%'`.execute(
      db,
    )
    let deleted = 0
    for (const { name } of tables) {
      deleted += Number((await sql`delete from ${sql.id(name)}`.execute(db)).numAffectedRows)
    }
    return deleted
  },
  async postgres(db) {
    await sql`set local session_replication_role = replica`.execute(db) // disables foreign key checks
    await sql`set local lock_timeout = ${sql.lit(LOCK_TIMEOUT_MS)}`.execute(db)
    const { rows } = await sql<{ deleted: number }>`select testing.delete_rows() as deleted`.execute(db)
    return rows[0]!.deleted
  },
}

async function drop({ driver, drop }: Shared): Promise<void> {
  await driver.destroy()
  await drop()
}

function borrowedDialect(shared: Shared): Dialect {
  const { dialect } = shared
  return {
    createAdapter: () => dialect.createAdapter(),
    createDriver: () => new BorrowedDriver(shared),
    createIntrospector: (db) => dialect.createIntrospector(db),
    createQueryCompiler: () => dialect.createQueryCompiler(),
  }
}

/** After `destroy` Kysely refuses statements as for a closed database, but the shared one stays open. */
class BorrowedDriver implements Driver {
  readonly #shared: Shared

  constructor(shared: Shared) {
    this.#shared = shared
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    this.#shared.inUse++
    try {
      return await this.#shared.driver.acquireConnection()
    } catch (error) {
      this.#shared.inUse--
      throw error
    }
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    await this.#shared.driver.releaseConnection(connection)
    this.#shared.inUse--
  }

  beginTransaction: Driver['beginTransaction'] = (connection, settings) =>
    this.#shared.driver.beginTransaction(connection, settings)
  commitTransaction: Driver['commitTransaction'] = (connection) => this.#shared.driver.commitTransaction(connection)
  rollbackTransaction: Driver['rollbackTransaction'] = (connection) =>
    this.#shared.driver.rollbackTransaction(connection)

  async destroy(): Promise<void> {}
}
