import { parentPort, workerData } from 'node:worker_threads'
import { Kysely, SqliteDialect } from 'kysely'
import { Problem } from '../problem.ts'
import type { Database } from './database.ts'
import type { Tables } from './schema.ts'
import { openSqlite } from './sqlite.ts'
import { type Asked, IN_WRITER, type Told } from './sqlite-thread.ts'

/** The other side of `sqlite-thread.ts`: runs statements, and transactions as a whole, in the order in which they come. */
const port = parentPort!
const database = openSqlite(workerData.path)
const db = new Kysely<Tables>({ dialect: new SqliteDialect({ database: async () => database }) })

port.on('message', async ({ id, text, parameters }: Asked) => {
  if (text === null) {
    database.close()
    port.close()
    return
  }
  port.postMessage(await answer(id, text, parameters))
})

async function answer(id: number, text: string, parameters: readonly unknown[]): Promise<Told> {
  try {
    if (text === IN_WRITER) return { id, rows: { names: ['result'], values: [[await result(parameters)]] }, changes: 0 }
    const statement = database.prepare(text)
    if (statement.reader) return { id, rows: statement.read(parameters), changes: 0 }
    return { id, rows: null, changes: Number(statement.run(parameters).changes) }
  } catch (error) {
    if (error instanceof Problem) {
      const { status, message, errors } = error
      return { id, refused: { status, message, errors } }
    }
    const { message, code, errcode } = error as Error & { code?: string; errcode?: number }
    return { id, error: { message, code, errcode } }
  }
}

type Work = (transaction: Database, argument: unknown) => Promise<unknown>

async function result([module, name, argument]: readonly unknown[]): Promise<unknown> {
  const { [name as string]: work } = (await import(module as string)) as Record<string, Work>
  return await db.transaction().execute((transaction) => work!(transaction, argument))
}
