import { Worker } from 'node:worker_threads'
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
import { type FieldErrors, Problem } from '../problem.ts'
import { CHECKPOINT_PAGES, objectsOf, openSqlite, type Rows } from './sqlite.ts'

export type Asked = { id: number; text: string | null; parameters: readonly unknown[] }
export type Told =
  | { id: number; rows: Rows | null; changes: number }
  | { id: number; error: Fault }
  /** What a function that ran there refused to do. */
  | { id: number; refused: { status: number; message: string; errors: FieldErrors | undefined } }

/** What is told of an error; its name and stack say where in the thread it was thrown. */
type Fault = {
  name: string
  message: string
  stack?: string | undefined
  code?: string | undefined
  errcode?: number | undefined
}

/**
 * SQLite for a server: whatever writes runs in a thread of its own, so that neither long statements nor the disk hold up
 * the event loop, and another one moves the log into the file, so that the disk holds up few commits. Reads outside of a
 * transaction run here at once, on a connection that sees all that is committed, or in a third thread where they take
 * longer than the journey (`in-thread.ts`). Nothing here ever waits for the lock of the writer, which the thread could not
 * give back while this loop stands still.
 */
export function sqliteThreadDialect(path: string): Dialect {
  const adapter = new SqliteThreadAdapter(path)
  return {
    createAdapter: () => adapter,
    createDriver: () => new ThreadDriver(path, adapter),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

export class SqliteThreadAdapter extends SqliteAdapter {
  /** Undefined before the first statement and after the last. */
  reader: Reader | undefined
  readonly #path: string | undefined
  #readingThread: Thread | undefined

  /** `path`: undefined in the threads themselves. */
  constructor(path?: string) {
    super()
    this.#path = path
  }

  /** Started when it is first needed. Undefined where `reader` is, and in the threads themselves. */
  readingThread(): Thread | undefined {
    if (this.#path === undefined || !this.reader) return undefined
    if (this.#readingThread?.lost) this.#readingThread = undefined
    const script = { script: './sqlite-worker.ts', path: this.#path, readOnly: true }
    this.#readingThread ??= new Thread(script, (error) => process.emitWarning(error))
    return this.#readingThread
  }

  async closeReaders(): Promise<void> {
    this.reader?.close()
    this.reader = undefined
    await this.#readingThread?.close()
  }
}

type Reader = ReturnType<typeof openSqlite>

/** Stands for a function that the thread runs, the writer's in a transaction: its module, name and argument are the parameters. */
export const IN_THREAD = '/* in thread */'

class ThreadDriver implements Driver {
  readonly #path: string
  readonly #adapter: SqliteThreadAdapter
  #thread: Thread | undefined
  #checkpointer: Thread | undefined

  constructor(path: string, adapter: SqliteThreadAdapter) {
    this.#path = path
    this.#adapter = adapter
  }

  async init(): Promise<void> {
    const path = this.#path
    let isOpen = false
    this.#thread = new Thread({ script: './sqlite-worker.ts', path }, (error) => {
      // Without its writer a server is of no use, and must not look as if it were: as after any uncaught error, it ends.
      if (isOpen) setImmediate(() => { throw error }) // biome-ignore format: one line
    })
    // The writer makes the file; without it there is nothing to read.
    await this.#thread.run('select 1', [])
    isOpen = true
    // Without it the writer's own commits move the log.
    const checkpointer = { script: './sqlite-checkpointer.ts', path, writersPages: CHECKPOINT_PAGES }
    this.#checkpointer = new Thread(checkpointer, (error) => process.emitWarning(error))
    this.#adapter.reader = openSqlite(this.#path, { readOnly: true })
  }

  async acquireConnection(): Promise<Connection> {
    return new Connection(this.#thread!, this.#adapter.reader!)
  }

  async releaseConnection(connection: Connection): Promise<void> {
    connection.release()
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin'))
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('commit'))
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('rollback'))
  }

  async destroy(): Promise<void> {
    await this.#adapter.closeReaders()
    await this.#checkpointer?.close()
    // Whoever closes last leaves the file without a log beside it.
    await this.#thread?.close()
  }
}

/** From its first write until it is released it has the writer to itself. */
class Connection implements DatabaseConnection {
  readonly #thread: Thread
  readonly #reader: Reader
  #giveBack: (() => void) | undefined

  constructor(thread: Thread, reader: Reader) {
    this.#thread = thread
    this.#reader = reader
  }

  async executeQuery<R>(compiled: CompiledQuery): Promise<QueryResult<R>> {
    const { sql: text, parameters } = compiled
    if (!this.#giveBack && isRead(compiled)) return { rows: this.#reader.prepare(text).all(parameters) as R[] }
    this.#giveBack ??= await this.#thread.turn()
    return await this.#thread.run(text, parameters)
  }

  // biome-ignore lint/correctness/useYield: nothing here streams
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('Rows are not streamed here.')
  }

  release(): void {
    this.#giveBack?.()
    this.#giveBack = undefined
  }
}

export function isRead({ query, sql: text }: CompiledQuery): boolean {
  return SelectQueryNode.is(query) || (RawNode.is(query) && /^\s*select\b/i.test(text))
}

type Waiting = { resolve: (result: QueryResult<never>) => void; reject: (error: Error) => void }

type Script = { script: string; path: string; readOnly?: boolean; writersPages?: number }

class Thread {
  readonly #worker: Worker
  readonly #waiting = new Map<number, Waiting>()
  readonly #ended: Promise<void>
  #isClosing = false
  /** Set once it can do no more. */
  lost: Error | undefined
  /** One writer: whoever comes waits for whoever came before. */
  #last: Promise<void> = Promise.resolve()
  #id = 0

  /** `onLost` is told why it ended although nobody closed it. */
  constructor({ script, ...workerData }: Script, onLost: (error: Error) => void) {
    // JavaScript in the npm package, TypeScript in the repository: as this file.
    const file = script.replace(/\.ts$/, import.meta.url.slice(-3))
    this.#worker = new Worker(new URL(file, import.meta.url), { workerData })
    this.#worker.on('message', (told: Told) => this.#hear(told))
    this.#worker.on('error', (error: Error) => this.#lose(error))
    this.#ended = new Promise((resolve) => {
      this.#worker.on('exit', () => {
        this.#lose(new Error('The thread of the database ended.'))
        if (!this.#isClosing) onLost(this.lost!)
        resolve()
      })
    })
  }

  /** Resolves when it is one's turn, with how to give the turn back. */
  async turn(): Promise<() => void> {
    const before = this.#last
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#last = promise
    await before
    return resolve
  }

  run<R>(text: string, parameters: readonly unknown[]): Promise<QueryResult<R>> {
    if (this.lost) return Promise.reject(this.lost)
    const { promise, resolve, reject } = Promise.withResolvers<QueryResult<R>>()
    const id = this.#id++
    this.#waiting.set(id, { resolve: resolve as Waiting['resolve'], reject })
    this.#worker.postMessage({ id, text, parameters } satisfies Asked)
    return promise
  }

  async close(): Promise<void> {
    this.#isClosing = true
    this.#worker.postMessage({ id: this.#id++, text: null, parameters: [] } satisfies Asked)
    await this.#ended
  }

  #hear(told: Told): void {
    const waiting = this.#waiting.get(told.id)
    this.#waiting.delete(told.id)
    if ('refused' in told) {
      const { status, message, errors } = told.refused
      waiting?.reject(new Problem(status, message, errors))
      return
    }
    if ('error' in told) {
      waiting?.reject(Object.assign(new Error(told.error.message), told.error))
      return
    }
    const rows = told.rows === null ? [] : objectsOf(told.rows)
    waiting?.resolve({ rows: rows as never[], numAffectedRows: BigInt(told.changes) })
  }

  #lose(error: Error): void {
    this.lost ??= error
    for (const { reject } of this.#waiting.values()) reject(this.lost)
    this.#waiting.clear()
  }
}
