import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { type Dialect, SqliteDialect } from 'kysely'

/**
 * Stands in front of a statement that is to be run once for each of many lists of parameters: far cheaper here than one
 * statement with a long VALUES. Is given how many parameters a list has, and all of them in one array, which costs half of
 * what an array for each list costs on its way to the thread. All or nothing, also outside of a transaction. Answers one row, with
 * the list of `changes`. See `runForEach` in `database.ts`.
 */
export const FOR_EACH = '/* for each */ '

/** How many compiled statements are kept. The program has fewer texts than this but for its batches. */
const KEPT_STATEMENTS = 256

/** SQLite through `node:sqlite`. One connection: Kysely queues transactions and statements on it. */
export function sqliteDialect(path: string): Dialect {
  return new SqliteDialect({ database: async () => openSqlite(path) })
}

/**
 * Pages of the log after which a commit also moves them into the file, and waits for the disk. In a server most were moved by
 * then: `sqlite-checkpointer.ts`.
 */
export const CHECKPOINT_PAGES = 16_000
/** A log that grew further, because of long reads or a slow disk, is cut to this when it begins anew. */
const LOG_BYTES = 64 * 1_024 * 1_024

const WRITER_CACHE_KIB = 65_536
/** What it does not hold is mostly in the system's cache. */
const READER_CACHE_KIB = 32_768

export function openSqlite(path: string, { readOnly = false } = {}) {
  const database = new DatabaseSync(path, { timeout: 5_000, enableForeignKeyConstraints: true, readOnly })
  database.exec(`pragma cache_size = -${readOnly ? READER_CACHE_KIB : WRITER_CACHE_KIB}; pragma temp_store = memory`)
  if (!readOnly) {
    database.exec(
      `pragma journal_mode = wal; pragma synchronous = normal; pragma wal_autocheckpoint = ${CHECKPOINT_PAGES};
       pragma journal_size_limit = ${LOG_BYTES}`,
    )
  }
  const statements = new Map<string, ReturnType<typeof asStatement>>()
  return {
    close: () => database.close(),
    prepare(text: string) {
      const kept = statements.get(text)
      if (kept) return kept
      const prepared = database.prepare(inOurWords(text))
      const statement = text.startsWith(FOR_EACH) ? asForEach(prepared, database) : asPlain(prepared)
      if (text === 'rollback') onlyInTransaction(statement, database)
      if (statements.size >= KEPT_STATEMENTS) statements.delete(statements.keys().next().value!)
      statements.set(text, statement)
      return statement
    },
  }
}

function inOurWords(text: string): string {
  // A deferred transaction that turns into a writer fails at once when another process wrote meanwhile.
  if (text === 'begin') return 'begin immediate'
  // SQLite compiles a statement anew whenever the parameter that is its LIMIT is bound, but not one within an expression.
  return text.replaceAll(/\blimit \?/g, 'limit ? + 0')
}

type Parameters = readonly unknown[]

/** Rows without their columns' names, which stand beside them once: what goes from thread to thread. */
export type Rows = { names: string[]; values: unknown[][] }

/** Rows as objects that are made here: those of `node:sqlite` cost twice as much to make, and to read. */
export function objectsOf({ names, values }: Rows): Record<string, unknown>[] {
  return values.map(makerOf(names))
}

type Maker = (row: unknown[]) => Record<string, unknown>
const makers = new Map<string, Maker>()

/** Written as a literal of these names, which is many times faster than setting one name after the other. */
function makerOf(names: string[]): Maker {
  const key = JSON.stringify(names)
  const known = makers.get(key)
  if (known) return known
  const maker = new Function(
    'row',
    `return {${names.map((name, at) => `${JSON.stringify(name)}: row[${at}]`)}}`,
  ) as Maker
  makers.set(key, maker)
  return maker
}

function asPlain(statement: StatementSync) {
  const shapeNow = () => {
    const names = statement.columns().map(({ name }) => name)
    return { names, make: makerOf(names) }
  }
  let shape = shapeNow()
  statement.setReturnArrays(true)
  const read = (parameters: Parameters): Rows => {
    const values = statement.all(...(parameters as SQLInputValue[])) as unknown as unknown[][]
    // Another process may have changed the tables that a `*` stands for.
    if (values[0] && values[0].length !== shape.names.length) shape = shapeNow()
    return { names: shape.names, values }
  }
  const all = (parameters: Parameters) => {
    const { values } = read(parameters)
    return values.map(shape.make)
  }
  return asStatement(statement, { read, all, reader: shape.names.length > 0 })
}

/** SQLite rolls back by itself where the disk is full; whoever began the transaction is to hear of that, not that there is none. */
function onlyInTransaction(rollback: ReturnType<typeof asStatement>, database: DatabaseSync): void {
  const { run } = rollback
  rollback.run = (parameters) => (database.isTransaction ? run(parameters) : { changes: 0, lastInsertRowid: 0 })
}

function asForEach(statement: StatementSync, database: DatabaseSync) {
  const read = (parameters: Parameters): Rows => {
    const changes = allOrNothing(database, () => runEach(statement, parameters as [number, SQLInputValue[]]))
    return { names: ['changes'], values: [[changes]] }
  }
  return asStatement(statement, { read, all: (parameters) => objectsOf(read(parameters)), reader: true })
}

type Reading = { read: (parameters: Parameters) => Rows; all: (parameters: Parameters) => object[]; reader: boolean }

function asStatement(statement: StatementSync, { read, all, reader }: Reading) {
  return {
    reader,
    read,
    all,
    run: (parameters: Parameters) => statement.run(...(parameters as SQLInputValue[])),
    iterate: (parameters: Parameters) => all(parameters).values(),
  }
}

function runEach(statement: StatementSync, [width, values]: [number, SQLInputValue[]]): number[] {
  const changes: number[] = []
  for (let at = 0; at < values.length; at += width) {
    changes.push(Number(statement.run(...values.slice(at, at + width)).changes))
  }
  return changes
}

function allOrNothing<T>(database: DatabaseSync, work: () => T): T {
  if (database.isTransaction) return work()
  database.exec('begin immediate')
  try {
    const result = work()
    database.exec('commit')
    return result
  } catch (error) {
    if (database.isTransaction) database.exec('rollback')
    throw error
  }
}
