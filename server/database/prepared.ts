import type { Compilable, CompiledQuery } from 'kysely'
import { type Database, engineOf } from './database.ts'
import { isRead, SqliteThreadAdapter } from './sqlite-thread.ts'

/** A statement whose text depends on `key` alone. `values`: its parameters, in the order in which they stand in the text. */
export type Prepared<R> = { key: string; values: readonly unknown[]; build: () => Compilable<R> }

const KEPT = 2_000
const kept = new Map<string, CompiledQuery<unknown>>()

/** Runs a statement that is built and compiled only the first time: that costs more than what SQLite then does for it. */
export async function runPrepared<R>(db: Database, { key, values, build }: Prepared<R>): Promise<R[]> {
  const name = `${engineOf(db)} ${key}`
  const compiled = (kept.get(name) as CompiledQuery<R> | undefined) ?? compile(name, values, build)
  const { adapter } = db.getExecutor()
  // Where Kysely would come to as well, with many promises on the way.
  if (adapter instanceof SqliteThreadAdapter && adapter.reader && !db.isTransaction && isRead(compiled)) {
    return adapter.reader.prepare(compiled.sql).all(values) as R[]
  }
  const { rows } = await db.executeQuery<R>({ ...compiled, parameters: values })
  return rows
}

function compile<R>(name: string, values: readonly unknown[], build: () => Compilable<R>): CompiledQuery<R> {
  const compiled = build().compile()
  if (compiled.parameters.length !== values.length || compiled.parameters.some((each, at) => each !== values[at])) {
    throw new Error(`The values of the statement "${name}" are not its parameters.`)
  }
  if (kept.size >= KEPT) kept.delete(kept.keys().next().value!)
  kept.set(name, compiled)
  return compiled
}
