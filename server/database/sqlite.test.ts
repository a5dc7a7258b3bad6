import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../clock.ts'
import { newDatabaseUrl } from '../testing/database.ts'
import { type Database, inTransaction, runForEach } from './database.ts'
import { openDatabase, type StatementObserver } from './open.ts'

/** Two databases on one file, as two processes have them. */
async function givenDatabases(observer?: StatementObserver): Promise<[Database, Database]> {
  const { url, drop } = await newDatabaseUrl('sqlite')
  const [one, other] = [openDatabase(url, observer ? { observer } : {}), openDatabase(url)]
  onTestFinished(async () => {
    await one.destroy()
    await other.destroy()
    await drop()
  })
  await sql`create table things (id integer primary key, name text not null unique) strict`.execute(one)
  return [one, other]
}

const names = async (db: Database) =>
  (await sql<{ name: string }>`select name from things order by id`.execute(db)).rows.map(({ name }) => name)

test('a read sees what is committed, and does not wait for a transaction that is open', async () => {
  const [db] = await givenDatabases()
  await sql`insert into things values (1, 'one')`.execute(db)
  await inTransaction(db, async (transaction) => {
    await sql`insert into things values (2, 'two')`.execute(transaction)
    await systemClock.sleep(1)
    expect(await names(transaction)).toEqual(['one', 'two'])
    expect(await names(db)).toEqual(['one'])
  })
  expect(await names(db)).toEqual(['one', 'two'])
})

test('a write waits until the transaction before it has ended', async () => {
  const [db] = await givenDatabases()
  const write = { promise: Promise.resolve<unknown>(undefined) }
  await expect(
    inTransaction(db, async (transaction) => {
      await sql`insert into things values (1, 'one')`.execute(transaction)
      write.promise = sql`insert into things values (2, 'two')`.execute(db)
      await systemClock.sleep(1)
      throw new Error('no')
    }),
  ).rejects.toThrow('no')
  await write.promise
  expect(await names(db)).toEqual(['two'])
})

test('transactions run one after the other, and one that fails writes nothing', async () => {
  const [db] = await givenDatabases()
  const add = (id: number) =>
    inTransaction(db, async (transaction) => {
      const before = await names(transaction)
      await systemClock.sleep(1)
      await sql`insert into things values (${id}, ${`after ${before.length}`})`.execute(transaction)
      if (id === 3) throw new Error('no')
    })
  const ended = await Promise.allSettled([1, 2, 3, 4].map(add))
  expect(ended.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
  expect(await names(db)).toEqual(['after 0', 'after 1', 'after 2'])
})

test('a write and a transaction wait for the writer of another process without blocking the event loop', async () => {
  let busy = 0
  const [one, other] = await givenDatabases({ statement: () => {}, busyRetry: () => busy++ })
  let written: Promise<unknown> | undefined
  let turns = 0
  await inTransaction(other, async (transaction) => {
    await sql`insert into things values (1, 'one')`.execute(transaction)
    written = Promise.all([
      sql`insert into things values (2, 'two')`.execute(one),
      inTransaction(one, (mine) => sql`insert into things values (3, 'three')`.execute(mine)),
      runForEach(one, 'insert into things values (?, ?)', [[4, 'four']]),
    ])
    for (; turns < 20; turns++) await systemClock.sleep(2)
  })
  await written
  expect(await names(one)).toEqual(['one', 'two', 'three', 'four'])
  expect(busy).toBeGreaterThan(0)
})

test('a process that writes without a pause lets others write in between', async () => {
  const [one, other] = await givenDatabases()
  const MOST = 50_000
  let rounds = 0
  let hasWritten = false
  const tooLong = async () => {
    while (!hasWritten && rounds++ < MOST) {
      await inTransaction(one, (transaction) => sql`insert into things values (1, 'one')`.execute(transaction))
      await sql`delete from things where id = 1`.execute(one)
    }
  }
  const write = async () => {
    await systemClock.sleep(1)
    await sql`insert into things values (2, 'two')`.execute(other)
    hasWritten = true
  }
  await Promise.all([tooLong(), write()])
  expect(rounds).toBeLessThan(MOST)
})

test('one statement for many lists of values says how many rows each changed', async () => {
  const [db] = await givenDatabases()
  const insert = 'insert into things values (?, ?) on conflict do nothing'
  expect(await runForEach(db, insert, [[1, 'one'], [1, 'again'], [2, 'two']])).toEqual([1, 0, 1]) // biome-ignore format: one line
  expect(await names(db)).toEqual(['one', 'two'])
})

test('one statement for many lists of values writes all of them or none', async () => {
  const [db] = await givenDatabases()
  const insert = 'insert into things values (?, ?)'
  await expect(runForEach(db, insert, [[1, 'one'], [2, 'two'], [1, 'again']])).rejects.toThrow('UNIQUE') // biome-ignore format: one line
  expect(await names(db)).toEqual([])
  await inTransaction(db, async (transaction) => {
    await runForEach(transaction, insert, [[1, 'one']])
    await sql`insert into things values (2, 'two')`.execute(transaction)
  })
  expect(await names(db)).toEqual(['one', 'two'])
})

test('an error has the code of SQLite, and the next statement works', async () => {
  const [db] = await givenDatabases()
  await sql`insert into things values (1, 'one')`.execute(db)
  await expect(sql`insert into things values (2, 'one')`.execute(db)).rejects.toMatchObject({ errcode: 2067 })
  await expect(sql`select missing from things`.execute(db)).rejects.toThrow('no such column')
  expect(await names(db)).toEqual(['one'])
})

test('a transaction that fills the disk fails with that error', async () => {
  const [db] = await givenDatabases()
  await sql`pragma max_page_count = 1`.execute(db) // no more than there are
  await expect(inTransaction(db, (transaction) => fill(transaction))).rejects.toMatchObject({ errcode: 13 })
  expect(await names(db)).toEqual([])
})

test('a statement that reads all columns follows when another process changes them', async () => {
  const [one, other] = await givenDatabases()
  const read = async () => (await sql`select * from other_things`.execute(one)).rows
  await sql`create table other_things (id integer, old text, name text)`.execute(one)
  await sql`insert into other_things values (1, 'old', 'one')`.execute(one)
  expect(await read()).toEqual([{ id: 1, old: 'old', name: 'one' }])

  await sql`alter table other_things drop column old`.execute(other)
  expect(await read()).toEqual([{ id: 1, name: 'one' }])
  await sql`alter table other_things add column more integer default 3`.execute(other)
  expect(await read()).toEqual([{ id: 1, name: 'one', more: 3 }])
})

/** Ten rows of ten pages. */
async function fill(db: Database): Promise<void> {
  const things = Array.from({ length: 10 }, (_, at) => [at, `${at} ${'x'.repeat(40_000)}`])
  await runForEach(db, 'insert into things values (?, ?)', things)
}
