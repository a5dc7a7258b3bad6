import { stat } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { newDatabaseUrl } from '../testing/database.ts'
import { type Database, runForEach } from './database.ts'
import { openDatabase } from './open.ts'
import { startCheckpoints } from './sqlite-checkpoints.ts'
import { sqlitePathOf } from './url.ts'

async function givenCheckpoints(): Promise<{ db: Database; path: string; reader: DatabaseSync }> {
  const { url, drop } = await newDatabaseUrl('sqlite')
  const path = sqlitePathOf(url)!
  const db = openDatabase(url)
  await sql`create table things (id integer primary key, name text not null) strict`.execute(db)
  const stop = startCheckpoints(path)
  const reader = new DatabaseSync(path)
  onTestFinished(async () => {
    stop()
    reader.close()
    await db.destroy()
    await drop()
  })
  return { db, path, reader }
}

test('the pages of the log are moved into the file beside the writer', async () => {
  const { db, reader } = await givenCheckpoints()
  await fill(db, 200)
  const state = () => reader.prepare('pragma wal_checkpoint(noop)').get() as { log: number; checkpointed: number }
  expect(state().log).toBeGreaterThan(2_000)
  await expect.poll(() => state().log - state().checkpointed).toBe(0)
})

test('a log that a long read let grow is cut when the read is over', async () => {
  const { db, path, reader } = await givenCheckpoints()
  reader.exec('begin; select * from things')
  const megabytes = async () => (await stat(`${path}-wal`)).size / 1_048_576
  for (let filled = 0; filled < 3_000; filled += 500) await fill(db, 500, filled)
  expect(await megabytes()).toBeGreaterThan(100)
  reader.exec('commit')
  let id = 1_000_000
  const afterOneMore = async () => {
    await sql`insert into things values (${++id}, ${`${id} more`})`.execute(db)
    return await megabytes()
  }
  await expect.poll(afterOneMore, { timeout: 10_000 }).toBeLessThan(65)
})

/** So many rows of ten pages, in one transaction. */
async function fill(db: Database, rows: number, from = 0): Promise<void> {
  const things = Array.from({ length: rows }, (_, at) => [from + at, `${from + at} ${'x'.repeat(40_000)}`])
  await runForEach(db, 'insert into things values (?, ?)', things)
}
