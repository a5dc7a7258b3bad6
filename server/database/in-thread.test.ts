import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { Problem } from '../problem.ts'
import { newDatabaseUrl, onBothEngines } from '../testing/database.ts'
import {
  addThing,
  addThingAndFail,
  addThingAndRefuse,
  answerFunction,
  breakDown,
  countThings,
  endThread,
  throwNothing,
} from '../testing/thread-work.ts'
import { type Database, inTransaction, openDatabase } from './database.ts'
import { inReader, inWriter } from './in-thread.ts'

const module = new URL('../testing/thread-work.ts', import.meta.url).href
const add = (db: Database, id: number) => inWriter(db, { module, work: addThing }, { id, name: `thing ${id}` })
const addAndFail = (db: Database, id: number) =>
  inWriter(db, { module, work: addThingAndFail }, { id, name: `thing ${id}` })
const ids = async (db: Database) =>
  (await sql<{ id: number }>`select id from things order by id`.execute(db)).rows.map(({ id }) => id)
const makeTable = (db: Database) => sql`create table things (id integer primary key, name text not null)`.execute(db)

async function givenThread(): Promise<Database> {
  const { url, drop } = await newDatabaseUrl('sqlite')
  const db = openDatabase(url, { inThread: true })
  onTestFinished(async () => {
    await db.destroy()
    await drop()
  })
  await makeTable(db)
  return db
}

test('a transaction runs whole in the thread of the writer, and what it wrote is read at once', async () => {
  const db = await givenThread()
  expect(await add(db, 1)).toEqual({ count: 1, isMainThread: false })
  expect(await ids(db)).toEqual([1])
})

test('in the thread, one that fails leaves nothing and rejects, and others wait for their turn', async () => {
  const db = await givenThread()
  await expect(addAndFail(db, 1)).rejects.toThrow('no')
  const before = inTransaction(db, async (transaction) => {
    await sql`insert into things values (2, 'two')`.execute(transaction)
    await new Promise((resolve) => setTimeout(resolve, 20))
    await sql`insert into things values (3, 'three')`.execute(transaction)
  })
  expect(await Promise.all([before, add(db, 4), add(db, 5)])).toMatchObject([undefined, { count: 3 }, { count: 4 }])
  await expect(add(db, 5)).rejects.toMatchObject({ errcode: 1555 })
})

test('what the work refuses is refused here in the same words, and leaves nothing', async () => {
  const db = await givenThread()
  const refusal = await inWriter(db, { module, work: addThingAndRefuse }, { id: 1, name: 'thing' }).catch(
    (error) => error,
  )
  expect(refusal).toBeInstanceOf(Problem)
  expect(refusal).toMatchObject({ status: 400, errors: { name: 'is taken.' } })
  expect(await ids(db)).toEqual([])
})

test('what only reads runs in a thread beside the writer, which sees all that is committed and can write nothing', async () => {
  const db = await givenThread()
  const count = () => inReader(db, { module, work: countThings }, { least: 0 })
  expect(await count()).toEqual({ count: 0, isMainThread: false })
  await inTransaction(db, async (transaction) => {
    await sql`insert into things values (1, 'one')`.execute(transaction)
    expect(await count()).toMatchObject({ count: 0 })
  })
  expect(await count()).toMatchObject({ count: 1 })
  await expect(inReader(db, { module, work: countThings }, { least: 2 })).rejects.toMatchObject({ status: 400 })
  await expect(inReader(db, { module, work: addThing }, { id: 2, name: 'two' })).rejects.toThrow('readonly')
  expect(await count()).toMatchObject({ count: 1 })
})

test('what breaks there is told with its name and its place, whatever it is', async () => {
  const db = await givenThread()
  for (const run of [inReader, inWriter]) {
    const fault = await run(db, { module, work: breakDown }, 'a mistake').catch((error) => error)
    expect(fault).toMatchObject({ name: 'TypeError', message: 'a mistake' })
    expect(fault.stack).toContain('thread-work.ts')
    await expect(run(db, { module, work: throwNothing }, null)).rejects.toThrow('undefined')
    await expect(run(db, { module, work: answerFunction }, null)).rejects.toThrow('could not be cloned')
  }
  expect(await add(db, 1)).toMatchObject({ count: 1 })
})

test('a reading thread that ends fails what it was asked, and reading goes on in another one', async () => {
  const db = await givenThread()
  await expect(inReader(db, { module, work: endThread }, null)).rejects.toThrow('The thread of the database ended.')
  expect(await inReader(db, { module, work: countThings }, { least: 0 })).toEqual({ count: 0, isMainThread: false })
})

test('without its writer the process ends, so that whoever watches it starts it anew', async () => {
  const { url, drop } = await newDatabaseUrl('sqlite')
  onTestFinished(drop)
  const script = new URL('../testing/lose-writer.ts', import.meta.url)
  const child = spawn(process.execPath, [fileURLToPath(script), url], { stdio: ['ignore', 'ignore', 'pipe'] })
  const [[code], said] = await Promise.all([once(child, 'exit'), text(child.stderr)])
  expect([code, said]).toEqual([1, expect.stringContaining('The thread of the database ended.')])
})

onBothEngines('without a thread', (fresh) => {
  test('the work runs here, in a transaction or in the one that is open', async () => {
    const db = await fresh()
    await makeTable(db)
    expect(await add(db, 1)).toMatchObject({ count: 1 })
    expect(await inReader(db, { module, work: countThings }, { least: 1 })).toEqual({ count: 1, isMainThread: true })
    await expect(addAndFail(db, 2)).rejects.toThrow('no')
    await expect(inTransaction(db, async (transaction) => await addAndFail(transaction, 3))).rejects.toThrow('no')
    expect(await ids(db)).toEqual([1])
  })
})
