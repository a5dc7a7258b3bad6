import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { newDatabaseUrl } from '../testing/database.ts'
import { type Database, openDatabase } from './database.ts'

async function givenDatabases(): Promise<[Database, Database]> {
  const { url, drop } = await newDatabaseUrl('sqlite')
  const [one, other] = [openDatabase(url), openDatabase(url)]
  onTestFinished(async () => {
    await one.destroy()
    await other.destroy()
    await drop()
  })
  return [one, other]
}

test('a statement that reads all columns follows when another process changes them', async () => {
  const [one, other] = await givenDatabases()
  const read = async () => (await sql`select * from things`.execute(one)).rows
  await sql`create table things (id integer, old text, name text)`.execute(one)
  await sql`insert into things values (1, 'old', 'one')`.execute(one)
  expect(await read()).toEqual([{ id: 1, old: 'old', name: 'one' }])

  await sql`alter table things drop column old`.execute(other)
  expect(await read()).toEqual([{ id: 1, name: 'one' }])
  await sql`alter table things add column more integer default 3`.execute(other)
  expect(await read()).toEqual([{ id: 1, name: 'one', more: 3 }])
})

test('a limit that is bound holds, also in a sub-select and beside an offset', async () => {
  const [db] = await givenDatabases()
  await sql`create table things (id integer)`.execute(db)
  await sql`insert into things values (1), (2), (3), (4)`.execute(db)
  const { rows } = await sql`select id from (select id from things order by id desc limit ${3}) as last
    order by id limit ${1} offset ${1}`.execute(db)
  expect(rows).toEqual([{ id: 3 }])
})
