import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  RawNode,
  SelectQueryNode,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import { systemClock } from '../clock.ts'

/** One statement that runs once for each list of parameters. Returns one row with the list of `changes`. */
export type ForEachQuery = CompiledQuery & { lists: readonly (readonly unknown[])[] }

/** SQLite through `node:sqlite`: one connection that writes, and one that reads outside of transactions. */
export function sqliteDialect(path: string, onBusy: () => void = () => {}): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new SqliteDriver(path, onBusy),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

/** How long a writer waits for the writers of other processes. */
const LOCK_TIMEOUT_MS = 5_000
const LOCK_POLL_MS = 1
/** A process that wrote for this long without a pause makes one, so that other processes get the lock and its event loop runs. */
const LONG_WRITES_MS = 10
const PAUSE_MS = 2

class SqliteDriver implements Driver {
  readonly #path: string
  readonly #onBusy: () => void
  #writer: SqliteConnection | undefined
  #reader: SqliteConnection | undefined
  /** Resolves when the last one in the queue of writers is done. */
  #lastWriter: Promise<void> = Promise.resolve()
  #writingMs = 0
  #endedAt = 0

  constructor(path: string, onBusy: () => void) {
    this.#path = path
    this.#onBusy = onBusy
  }

  async init(): Promise<void> {
    this.#writer = new SqliteConnection(this.#path) // creates the file
    this.#reader = new SqliteConnection(this.#path, { readOnly: true })
  }

  async acquireConnection(): Promise<Session> {
    return new Session(this.#writer!, this.#reader!, () => this.#lock(), this.#onBusy)
  }

  async releaseConnection(session: Session): Promise<void> {
    session.release()
  }

  async beginTransaction(session: Session): Promise<void> {
    await session.begin()
  }

  async commitTransaction(session: DatabaseConnection): Promise<void> {
    await session.executeQuery(CompiledQuery.raw('commit'))
  }

  async rollbackTransaction(session: Session): Promise<void> {
    session.rollback()
  }

  async destroy(): Promise<void> {
    this.#reader?.close()
    this.#writer?.close()
  }

  /** Waits for the other writers of this process. Resolves to a function that starts the next one. */
  async #lock(): Promise<() => void> {
    const before = this.#lastWriter
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#lastWriter = promise
    await before
    const startedAt = systemClock.elapsed()
    if (startedAt - this.#endedAt > PAUSE_MS) this.#writingMs = 0
    if (this.#writingMs > LONG_WRITES_MS) {
      await systemClock.sleep(PAUSE_MS)
      this.#writingMs = 0
    }
    return () => {
      this.#endedAt = systemClock.elapsed()
      this.#writingMs += this.#endedAt - startedAt
      resolve()
    }
  }
}

/** A connection for Kysely. From its first write until it is released, no other one can write. */
class Session implements DatabaseConnection {
  readonly #writer: SqliteConnection
  readonly #reader: SqliteConnection
  readonly #lock: () => Promise<() => void>
  readonly #onBusy: () => void
  #unlock: (() => void) | undefined

  constructor(writer: SqliteConnection, reader: SqliteConnection, lock: () => Promise<() => void>, onBusy: () => void) {
    this.#onBusy = onBusy
    this.#writer = writer
    this.#reader = reader
    this.#lock = lock
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (!this.#unlock && isRead(query)) return this.#reader.run<R>(query)
    this.#unlock ??= await this.#lock()
    return await whenUnlocked(() => this.#writer.run<R>(query), this.#onBusy)
  }

  async begin(): Promise<void> {
    this.#unlock ??= await this.#lock()
    // A deferred transaction fails at its first write if another process has written since it began.
    await whenUnlocked(() => this.#writer.run(CompiledQuery.raw('begin immediate')), this.#onBusy)
  }

  rollback(): void {
    // SQLite rolls back by itself when the disk is full. Rolling back again would hide that error.
    if (this.#writer.isTransaction) this.#writer.run(CompiledQuery.raw('rollback'))
  }

  // biome-ignore lint/correctness/useYield: streaming is not used
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('SQLite does not stream rows here.')
  }

  release(): void {
    this.#unlock?.()
    this.#unlock = undefined
  }
}

function isRead({ query, sql: text }: CompiledQuery): boolean {
  return SelectQueryNode.is(query) || (RawNode.is(query) && /^\s*select\b/i.test(text))
}

const SQLITE_BUSY = 5

/** Retries here, because SQLite's busy timeout would block the event loop. A statement that failed because of the lock changed nothing. */
async function whenUnlocked<T>(work: () => T, onBusy: () => void): Promise<T> {
  const giveUpAt = systemClock.elapsed() + LOCK_TIMEOUT_MS
  for (;;) {
    try {
      return work()
    } catch (error) {
      const { errcode = 0 } = error as { errcode?: number }
      if ((errcode & 0xff) !== SQLITE_BUSY || systemClock.elapsed() > giveUpAt) throw error
    }
    onBusy()
    await systemClock.sleep(LOCK_POLL_MS)
  }
}

/** Compiled statements that each connection caches. The program has fewer, except for bulk inserts. */
const MAX_STATEMENTS = 256
const WRITER_CACHE_KIB = 65_536
/** Other pages are usually in the cache of the operating system. */
const READER_CACHE_KIB = 32_768
/**
 * Pages in the write-ahead log after which a commit also does a checkpoint and waits for the disk. In a server the
 * supervisor does checkpoints long before: `sqlite-checkpoints.ts`.
 */
const CHECKPOINT_PAGES = 48_000
/** A log that grew because of long reads or a slow disk is truncated to this size. */
const LOG_BYTES = 64 * 1_024 * 1_024

class SqliteConnection {
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, Statement>()

  constructor(path: string, { readOnly = false } = {}) {
    this.#database = new DatabaseSync(path, { timeout: LOCK_TIMEOUT_MS, enableForeignKeyConstraints: true, readOnly })
    this.#database.exec(
      `pragma cache_size = -${readOnly ? READER_CACHE_KIB : WRITER_CACHE_KIB}; pragma temp_store = memory`,
    )
    if (readOnly) return
    this.#database.exec(
      `pragma journal_mode = wal; pragma synchronous = normal; pragma wal_autocheckpoint = ${CHECKPOINT_PAGES};
       pragma journal_size_limit = ${LOG_BYTES}; pragma busy_timeout = 0`,
    )
  }

  get isTransaction(): boolean {
    return this.#database.isTransaction
  }

  run<R>(query: CompiledQuery | ForEachQuery): QueryResult<R> {
    const statement = this.#prepare(query.sql)
    if (!('lists' in query)) return statement.run(query.parameters) as QueryResult<R>
    const changes = this.#atomically(() => query.lists.map((list) => statement.runOnce(list)))
    return { rows: [{ changes }] as R[] }
  }

  close(): void {
    this.#database.close()
  }

  #prepare(text: string): Statement {
    const kept = this.#statements.get(text)
    if (kept) return kept
    const statement = new Statement(this.#database.prepare(text))
    if (this.#statements.size >= MAX_STATEMENTS) this.#statements.delete(this.#statements.keys().next().value!)
    this.#statements.set(text, statement)
    return statement
  }

  #atomically<T>(work: () => T): T {
    if (this.#database.isTransaction) return work()
    this.#database.exec('begin immediate')
    try {
      const result = work()
      this.#database.exec('commit')
      return result
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('rollback')
      throw error
    }
  }
}

type Row = Record<string, unknown>

class Statement {
  readonly #statement: StatementSync
  #names: string[]

  constructor(statement: StatementSync) {
    this.#statement = statement
    this.#names = namesOf(statement)
    // Creating the objects here takes half as long as in `node:sqlite`.
    statement.setReturnArrays(true)
  }

  run(parameters: readonly unknown[]): QueryResult<Row> {
    if (this.#names.length === 0) return { rows: [], numAffectedRows: BigInt(this.runOnce(parameters)) }
    const rows = this.#statement.all(...(parameters as SQLInputValue[])) as unknown as unknown[][]
    // Another process may have changed the columns that `*` returns.
    if (rows[0] && rows[0].length !== this.#names.length) this.#names = namesOf(this.#statement)
    return { rows: rows.map((values) => this.#object(values)) }
  }

  /** Returns how many rows it changed. */
  runOnce(parameters: readonly unknown[]): number {
    return Number(this.#statement.run(...(parameters as SQLInputValue[])).changes)
  }

  #object(values: unknown[]): Row {
    const row: Row = {}
    for (let at = 0; at < this.#names.length; at++) row[this.#names[at]!] = values[at]
    return row
  }
}

const namesOf = (statement: StatementSync) => statement.columns().map(({ name }) => name)
