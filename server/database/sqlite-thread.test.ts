import { stat } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { newDatabaseUrl } from '../testing/database.ts'
import { type Database, inTransaction, openDatabase, runForEach } from './database.ts'
import { openSqlite } from './sqlite.ts'

async function givenTable(): Promise<{ db: Database; url: string }> {
  const { url, drop } = await newDatabaseUrl('sqlite')
  const db = openDatabase(url, { inThread: true })
  onTestFinished(async () => {
    await db.destroy()
    await drop()
  })
  await sql`create table things (id integer primary key, name text not null unique) strict`.execute(db)
  return { db, url }
}

const names = async (db: Database) =>
  (await sql<{ name: string }>`select name from things order by id`.execute(db)).rows.map(({ name }) => name)

test('what is written is read at once, and what a transaction wrote only when it is committed', async () => {
  const { db } = await givenTable()
  await sql`insert into things values (1, 'one')`.execute(db)
  await inTransaction(db, async (transaction) => {
    await sql`insert into things values (2, 'two')`.execute(transaction)
    expect(await names(transaction)).toEqual(['one', 'two'])
    expect(await names(db)).toEqual(['one'])
  })
  expect(await names(db)).toEqual(['one', 'two'])
})

test('transactions come one after the other, and one that fails leaves nothing', async () => {
  const { db } = await givenTable()
  const add = (id: number) =>
    inTransaction(db, async (transaction) => {
      const before = await names(transaction)
      await sql`insert into things values (${id}, ${`after ${before.length}`})`.execute(transaction)
      if (id === 3) throw new Error('no')
    })
  const ended = await Promise.allSettled([1, 2, 3, 4].map(add))
  expect(ended.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
  expect(await names(db)).toEqual(['after 0', 'after 1', 'after 2'])
})

test('a statement for each of many lists says what each changed', async () => {
  const { db } = await givenTable()
  const insert = 'insert into things values (?, ?) on conflict do nothing'
  expect(await runForEach(db, insert, [[1, 'one'], [1, 'again'], [2, 'two']])).toEqual([1, 0, 1]) // biome-ignore format: one line
  expect(await names(db)).toEqual(['one', 'two'])
})

test('of a statement for many lists all is written or nothing', async () => {
  const { db } = await givenTable()
  const insert = 'insert into things values (?, ?)'
  await expect(runForEach(db, insert, [[1, 'one'], [2, 'two'], [1, 'again']])).rejects.toThrow('UNIQUE') // biome-ignore format: one line
  expect(await names(db)).toEqual([])
  await inTransaction(db, async (transaction) => {
    await runForEach(transaction, insert, [[1, 'one']])
    await sql`insert into things values (2, 'two')`.execute(transaction)
  })
  expect(await names(db)).toEqual(['one', 'two'])
})

test("an error keeps SQLite's code, and the next statement works", async () => {
  const { db } = await givenTable()
  await sql`insert into things values (1, 'one')`.execute(db)
  await expect(sql`insert into things values (2, 'one')`.execute(db)).rejects.toMatchObject({ errcode: 2067 })
  await expect(sql`select missing from things`.execute(db)).rejects.toThrow('no such column')
  expect(await names(db)).toEqual(['one'])
})

test('whoever meets a full disk in a transaction is told so', async () => {
  const { db } = await givenTable()
  await sql`pragma max_page_count = 1`.execute(db) // no more than there are
  await expect(inTransaction(db, (transaction) => fill(transaction, 10))).rejects.toMatchObject({ errcode: 13 })
  expect(await names(db)).toEqual([])
})

test('a writer elsewhere is waited for without holding up this event loop', async () => {
  const { db, url } = await givenTable()
  const other = openDatabase(url, { inThread: true })
  onTestFinished(() => other.destroy())
  let turns = 0
  await inTransaction(other, async (transaction) => {
    await sql`insert into things values (1, 'theirs')`.execute(transaction)
    const ours = sql`insert into things values (2, 'ours')`.execute(db)
    for (; turns < 20; turns++) await new Promise((resolve) => setTimeout(resolve, 5))
    void ours
  })
  await expect.poll(() => names(db)).toEqual(['theirs', 'ours'])
})

test('the log is moved into the file beside the writer, long before a commit would have to', async () => {
  const { db, url } = await givenTable()
  const other = openSqlite(pathOf(url), { readOnly: true })
  onTestFinished(() => other.close())
  await fill(db, 200)
  const log = () => other.prepare('pragma wal_checkpoint(noop)').all([])[0] as { log: number; checkpointed: number }
  expect(log().log).toBeGreaterThan(2_000)
  await expect.poll(() => log().log - log().checkpointed).toBe(0)
})

test('a log that a long read let grow is cut when the read is over', async () => {
  const { db, url } = await givenTable()
  const reading = new DatabaseSync(pathOf(url))
  onTestFinished(() => reading.close())
  reading.exec('begin; select * from things')
  const megabytes = async () => (await stat(`${pathOf(url)}-wal`)).size / 1_048_576
  for (let filled = 0; filled < 3_000; filled += 500) await fill(db, 500, filled)
  expect(await megabytes()).toBeGreaterThan(100)
  reading.exec('commit')
  let id = 1_000_000
  const afterOneMore = async () => {
    await sql`insert into things values (${++id}, ${`${id} more`})`.execute(db)
    return await megabytes()
  }
  await expect.poll(afterOneMore).toBeLessThan(65)
})

const pathOf = (url: string) => url.slice('sqlite:'.length)

/** So many rows of ten pages, in one transaction. */
async function fill(db: Database, rows: number, from = 0): Promise<void> {
  const things = Array.from({ length: rows }, (_, at) => [from + at, `${from + at} ${'x'.repeat(40_000)}`])
  await runForEach(db, 'insert into things values (?, ?)', things)
}
