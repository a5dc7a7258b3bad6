import { CompiledQuery } from 'kysely'
import { type Database, inTransaction } from './database.ts'
import { IN_THREAD, SqliteThreadAdapter } from './sqlite-thread.ts'

/** A function that `module` exports by its name. It keeps nothing from call to call, since it may run in another thread. */
export type Work<A, R> = { module: string; work: (db: Database, argument: A) => Promise<R> }

/**
 * Runs `work` in a transaction of its own. Where SQLite's writer has a thread, all of it runs there: one message there and
 * one back, instead of two for each statement while everybody else waits. What goes there and back is cloned; a `Problem`
 * that is thrown there is thrown here.
 */
export async function inWriter<A, R>(db: Database, { module, work }: Work<A, R>, argument: A): Promise<R> {
  const isThere = db.getExecutor().adapter instanceof SqliteThreadAdapter
  if (!isThere || db.isTransaction) return await inTransaction(db, (transaction) => work(transaction, argument))
  const asked = CompiledQuery.raw(IN_THREAD, [module, work.name, argument])
  const { rows } = await db.executeQuery<{ result: R }>(asked)
  return rows[0]!.result
}

/**
 * Runs `work`, which only reads, in a thread beside that of SQLite's writer: for what takes longer than the journey there
 * and back. It sees all that is committed. As above, what goes there and back is cloned.
 */
export async function inReader<A, R>(db: Database, { module, work }: Work<A, R>, argument: A): Promise<R> {
  const { adapter } = db.getExecutor()
  const thread = adapter instanceof SqliteThreadAdapter && !db.isTransaction ? adapter.readingThread() : undefined
  if (!thread) return await work(db, argument)
  const { rows } = await thread.run<{ result: R }>(IN_THREAD, [module, work.name, argument])
  return rows[0]!.result
}
