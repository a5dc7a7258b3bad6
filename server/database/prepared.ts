import type { Compilable, CompiledQuery } from 'kysely'
import { type Database, engineOf } from './database.ts'

/**
 * A statement whose text depends on `name` and `shape` alone: `build` takes whatever it decides by from the shape, because a
 * statement that is kept is the right one only where all of that is part of its key. `shape`: JSON. `values`: its parameters,
 * in the order of the text.
 */
export type Prepared<S, R> = { name: string; shape: S; values: readonly unknown[]; build: (shape: S) => Compilable<R> }

const KEPT = 2_000
const kept = new Map<string, CompiledQuery<unknown>>()

/** Runs a statement that is built and compiled only the first time: that costs more than what SQLite then does for it. */
export async function runPrepared<S, R>(db: Database, { name, shape, values, build }: Prepared<S, R>): Promise<R[]> {
  const key = `${engineOf(db)} ${name} ${JSON.stringify(shape)}`
  const compiled = (kept.get(key) as CompiledQuery<R> | undefined) ?? compile(key, values, build(shape))
  const { rows } = await db.executeQuery<R>({ ...compiled, parameters: values })
  return rows
}

function compile<R>(key: string, values: readonly unknown[], statement: Compilable<R>): CompiledQuery<R> {
  const compiled = statement.compile()
  if (compiled.parameters.length !== values.length || compiled.parameters.some((each, at) => each !== values[at])) {
    throw new Error(`The values of the statement "${key}" are not its parameters.`)
  }
  if (kept.size >= KEPT) kept.delete(kept.keys().next().value!)
  kept.set(key, compiled)
  return compiled
}
