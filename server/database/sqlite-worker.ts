import { parentPort, workerData } from 'node:worker_threads'
import { openSqlite } from './sqlite.ts'
import type { Asked, Told } from './sqlite-thread.ts'

/** The other side of `sqlite-thread.ts`: runs statements in the order in which they come. */
const port = parentPort!
const database = openSqlite(workerData.path)

port.on('message', ({ id, text, parameters }: Asked) => {
  if (text === null) {
    database.close()
    port.close()
    return
  }
  port.postMessage(answer(id, text, parameters))
})

function answer(id: number, text: string, parameters: readonly unknown[]): Told {
  try {
    const statement = database.prepare(text)
    if (statement.reader) return { id, rows: statement.read(parameters), changes: 0 }
    return { id, rows: null, changes: Number(statement.run(parameters).changes) }
  } catch (error) {
    const { message, code, errcode } = error as Error & { code?: string; errcode?: number }
    return { id, error: { message, code, errcode } }
  }
}
