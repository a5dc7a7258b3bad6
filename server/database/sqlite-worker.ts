import { parentPort, workerData } from 'node:worker_threads'
import { Kysely, SqliteDialect } from 'kysely'
import { Problem } from '../problem.ts'
import type { Database } from './database.ts'
import type { Tables } from './schema.ts'
import { openSqlite } from './sqlite.ts'
import { type Asked, IN_THREAD, SqliteThreadAdapter, type Told } from './sqlite-thread.ts'

/**
 * The other side of `sqlite-thread.ts`: runs statements, and functions as a whole, in the order in which they come. The
 * writer runs each function in a transaction, `readOnly` in none.
 */
const port = parentPort!
const { path, readOnly = false } = workerData as { path: string; readOnly?: boolean }
const database = openSqlite(path, { readOnly })
const dialect = new SqliteDialect({ database: async () => database })
if (readOnly) {
  // Prepared statements go straight to the connection.
  const adapter = new SqliteThreadAdapter()
  adapter.reader = database
  dialect.createAdapter = () => adapter
}
const db = new Kysely<Tables>({ dialect })

port.on('message', async ({ id, text, parameters }: Asked) => {
  if (text === null) {
    database.close()
    port.close()
    return
  }
  const told = await answer(id, text, parameters)
  try {
    port.postMessage(told)
  } catch (error) {
    port.postMessage(faultOf(id, error)) // what came of it cannot be cloned
  }
})

async function answer(id: number, text: string, parameters: readonly unknown[]): Promise<Told> {
  try {
    if (text === IN_THREAD) return { id, rows: { names: ['result'], values: [[await result(parameters)]] }, changes: 0 }
    const statement = database.prepare(text)
    if (statement.reader) return { id, rows: statement.read(parameters), changes: 0 }
    return { id, rows: null, changes: Number(statement.run(parameters).changes) }
  } catch (error) {
    return faultOf(id, error)
  }
}

function faultOf(id: number, error: unknown): Told {
  if (error instanceof Problem) {
    const { status, message, errors } = error
    return { id, refused: { status, message, errors } }
  }
  if (!(error instanceof Error)) return { id, error: { name: 'Error', message: String(error) } }
  const { name, message, stack, code, errcode } = error as Error & { code?: string; errcode?: number }
  return { id, error: { name, message, stack, code, errcode } }
}

type Work = (db: Database, argument: unknown) => Promise<unknown>
const works = new Map<string, Work>()

async function result([module, name, argument]: readonly unknown[]): Promise<unknown> {
  const work = works.get(`${module} ${name}`) ?? (await load(module as string, name as string))
  if (readOnly) return await work(db, argument)
  return await db.transaction().execute((transaction) => work(transaction, argument))
}

async function load(module: string, name: string): Promise<Work> {
  const { [name]: work } = (await import(module)) as Record<string, Work>
  works.set(`${module} ${name}`, work!)
  return work!
}
