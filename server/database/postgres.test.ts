import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { newDatabaseUrl } from '../testing/database.ts'
import { type Database, inTransaction, openDatabase } from './database.ts'
import { isDatabaseUnavailable } from './unavailable.ts'

const TIMEOUT_MS = 500

test('a statement that PostgreSQL does not answer in time fails, and its connection is not used again', async () => {
  const db = await givenDatabase()
  await expectTimeout(sql`select pg_sleep(60)`.execute(db))
  expect((await sql`select 1 as one`.execute(db)).rows).toEqual([{ one: 1 }])
})

test('a transaction that waits for a lock for too long is rolled back', async () => {
  const db = await givenDatabase({ connections: 2 })
  await sql`create table notes (text text)`.execute(db)
  await inTransaction(db, async (first) => {
    await sql`lock table notes`.execute(first)
    const insertTwo = inTransaction(db, async (second) => {
      await sql`select 1`.execute(second)
      await sql`insert into notes values ('two')`.execute(second)
    })
    await expectTimeout(insertTwo)
    await sql`insert into notes values ('one')`.execute(first)
  })
  expect((await sql`select text from notes`.execute(db)).rows).toEqual([{ text: 'one' }])
})

test('a commit that is not confirmed in time is not reported as successful', async () => {
  const db = await givenDatabase()
  // Runs at the commit, as the wait for a synchronous standby does.
  await sql`create table notes (text text)`.execute(db)
  await sql`create function wait() returns trigger language plpgsql as 'begin perform pg_sleep(60); return null; end'`.execute(
    db,
  )
  await sql`create constraint trigger late after insert on notes deferrable initially deferred
    for each row execute function wait()`.execute(db)
  await expectTimeout(
    inTransaction(db, async (write) => void (await sql`insert into notes values ('one')`.execute(write))),
  )
})

async function givenDatabase({ connections = 1 } = {}): Promise<Database> {
  const { url, drop } = await newDatabaseUrl('postgres')
  const db = openDatabase(url, { connections, timeoutMs: TIMEOUT_MS })
  onTestFinished(async () => {
    await db.destroy()
    await drop()
  })
  return db
}

/** As something that may work later: 503 for a caller, and the loops continue. */
async function expectTimeout(work: Promise<unknown>): Promise<void> {
  const error = await work.then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(error).toBeInstanceOf(Error)
  expect(isDatabaseUnavailable(error), String(error)).toBe(true)
}
