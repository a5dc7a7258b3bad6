import { isMainThread } from 'node:worker_threads'
import { sql } from 'kysely'
import type { Database } from '../database/database.ts'
import { invalid } from '../problem.ts'

/** Work for `inReader`: says how many things there are, and where this ran. */
export async function countThings(db: Database, { least }: { least: number }) {
  const { rows } = await sql<{ count: number }>`select count(*) as count from things`.execute(db)
  const count = Number(rows[0]!.count)
  if (count < least) throw invalid({ least: 'is more than there are.' })
  return { count, isMainThread }
}

/** Work for `inWriter`: writes a thing. */
export async function addThing(db: Database, { id, name }: { id: number; name: string }) {
  await sql`insert into things values (${id}, ${name})`.execute(db)
  return await countThings(db, { least: 1 })
}

export async function addThingAndFail(db: Database, thing: { id: number; name: string }): Promise<void> {
  await addThing(db, thing)
  throw new Error('no')
}

export async function addThingAndRefuse(db: Database, thing: { id: number; name: string }): Promise<void> {
  await addThing(db, thing)
  throw invalid({ name: 'is taken.' })
}

/** Work that no thread survives. */
export async function endThread(_db: Database, _argument: null): Promise<void> {
  process.exit(1)
}

export async function breakDown(_db: Database, message: string): Promise<void> {
  throw new TypeError(message)
}

export async function throwNothing(_db: Database, _argument: null): Promise<void> {
  throw undefined
}

export async function answerFunction(_db: Database, _argument: null): Promise<() => void> {
  return () => {}
}
