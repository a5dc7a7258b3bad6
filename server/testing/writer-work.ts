import { isMainThread } from 'node:worker_threads'
import { sql } from 'kysely'
import type { Database } from '../database/database.ts'
import { invalid } from '../problem.ts'

/** Work for `inWriter`: writes a thing and says how many there are, and where this ran. */
export async function addThing(db: Database, { id, name }: { id: number; name: string }) {
  await sql`insert into things values (${id}, ${name})`.execute(db)
  const { rows } = await sql<{ count: number }>`select count(*) as count from things`.execute(db)
  return { count: Number(rows[0]!.count), isMainThread }
}

export async function addThingAndFail(db: Database, thing: { id: number; name: string }): Promise<void> {
  await addThing(db, thing)
  throw new Error('no')
}

export async function addThingAndRefuse(db: Database, thing: { id: number; name: string }): Promise<void> {
  await addThing(db, thing)
  throw invalid({ name: 'is taken.' })
}
