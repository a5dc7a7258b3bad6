import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { newDatabaseUrl } from '../testing/database.ts'
import { type Database, inTransaction } from './database.ts'
import { openDatabase } from './open.ts'
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

test('a node that begins a transaction and says nothing more holds up no other', async () => {
  const frozen = await givenDatabase({ idleMs: 300 })
  await sql`create table notes (text text)`.execute(frozen)
  const { promise: isLocked, resolve: locked } = Promise.withResolvers<void>()
  const { promise: isThawed, resolve: thaw } = Promise.withResolvers<void>()
  const late = inTransaction(frozen, async (transaction) => {
    await sql`insert into notes values ('late')`.execute(transaction)
    await sql`lock table notes`.execute(transaction)
    locked()
    await isThawed
    await sql`insert into notes values ('later')`.execute(transaction)
  })
  await isLocked
  const other = openDatabase(frozen.url)
  onTestFinished(() => other.destroy())
  await sql`insert into notes values ('other')`.execute(other)
  thaw()
  await expectTimeout(late)
  expect((await sql`select text from notes`.execute(other)).rows).toEqual([{ text: 'other' }])
  expect((await sql`select 1 as one`.execute(frozen)).rows).toEqual([{ one: 1 }])
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

async function givenDatabase({ connections = 1, idleMs = 0 } = {}): Promise<Database & { url: string }> {
  const { url, drop } = await newDatabaseUrl('postgres')
  const db = openDatabase(url, { connections, timeoutMs: TIMEOUT_MS, idleMs })
  onTestFinished(async () => {
    await db.destroy()
    await drop()
  })
  return Object.assign(db, { url })
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
