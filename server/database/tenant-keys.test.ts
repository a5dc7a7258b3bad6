import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { freshDatabase, onBothEngines } from '../testing/database.ts'
import { GLOBAL_TABLES, isAcrossOrganizations, QUEUE_TABLES, tenantTablesOf } from '../testing/tenant-tables.ts'

onBothEngines('the tables', (fresh) => {
  test('of tenants have the organization', async () => {
    const db = await fresh()
    const tenants = await tenantTablesOf(db)
    const tables = await db.introspection.getTables()
    const hasOrganization = tables.filter(({ columns }) => columns.some(({ name }) => name === 'organization_id'))
    const names = new Set(hasOrganization.map(({ name }) => name))
    expect(tenants.filter((name) => !names.has(name))).toEqual([])
    expect(tenants.length).toBeGreaterThan(15)
  })

  test('that are exceptions exist', async () => {
    const names = new Set(
      (await (await fresh()).introspection.getTables({ withInternalKyselyTables: true })).map(({ name }) => name),
    )
    expect(Object.keys({ ...GLOBAL_TABLES, ...QUEUE_TABLES }).filter((name) => !names.has(name))).toEqual([])
  })
})

test('each primary key, unique key and foreign key of a table of tenants has the organization on PostgreSQL', async () => {
  const db = await freshDatabase('postgres')
  const tenants = new Set(await tenantTablesOf(db))
  const { rows } = await sql<{ table: string; key: string; columns: string[]; referenced: string | null }>`
    select t.relname as table, k.name as key, k.referenced,
      array(select a.attname::text from unnest(k.attributes) n join pg_attribute a on a.attrelid = k.table_id and a.attnum = n) as columns
    from (
      select indrelid as table_id, indexrelid::regclass::text as name, indkey::int2[] as attributes, null as referenced
        from pg_index where indisunique
      union all
      select conrelid, conname, conkey, confrelid::regclass::text from pg_constraint where contype = 'f'
    ) k join pg_class t on t.oid = k.table_id where t.relnamespace = 'public'::regnamespace`.execute(db)
  const keys = rows.filter(({ table }) => tenants.has(table))
  expect(keys.filter(({ columns }) => !columns.includes('organization_id'))).toEqual([])
  expect(new Set(keys.map(({ table }) => table)).size).toBeGreaterThan(10)
  expect(keys.filter(({ referenced }) => referenced !== null).length).toBeGreaterThan(10)
})

test('a statement is filtered by the organization when a condition or an inserted column says so', () => {
  const isAcross = (statement: string) => isAcrossOrganizations(statement, ['monitors', 'groups'])
  expect(isAcross('select "organization_id" from "monitors" where "id" = ?')).toBe(true)
  expect(isAcross('update monitors set version = 2 where id = ?')).toBe(true)
  expect(isAcross('select * from "monitors" where "id" = ? and "organization_id" = ?')).toBe(false)
  expect(isAcross('select * from "monitors" where "monitors"."organization_id" = ?')).toBe(false)
  expect(isAcross('insert into "groups" ("id", "organization_id") values (?, ?)')).toBe(false)
  expect(isAcross('select * from "people" where "id" = ?')).toBe(false)
  expect(isAcross('select * from "monitors" where "organization_id" > ?')).toBe(true)
})

test('each table of a join and of a nested statement needs its own condition', () => {
  const isAcross = (statement: string) => isAcrossOrganizations(statement, ['monitors', 'groups'])
  const join = 'select 1 from monitors join groups as g on g.id = monitors.group_id'
  const bothIn = `${join} and g.organization_id = monitors.organization_id`
  expect(isAcross(`${join} where monitors.organization_id = ?`)).toBe(true)
  expect(isAcross(`${bothIn} where monitors.organization_id = ?`)).toBe(false)
  const ofOne = 'from monitors where organization_id = ?'
  expect(isAcross(`select (select name from groups where id = group_id) ${ofOne}`)).toBe(true)
  expect(isAcross(`select (select name from groups where organization_id = ? and id = group_id) ${ofOne}`)).toBe(false)
  expect(
    isAcross('with g as (select id from groups limit 1) update monitors set x = 1 where organization_id = ?'),
  ).toBe(true)
  expect(isAcross(`select 1 ${ofOne} union all select 1 from groups`)).toBe(true)
  expect(isAcross('insert into groups (id) select id from monitors where organization_id = ?')).toBe(true)
  expect(isAcross('delete from monitors where (organization_id, id) in (select ? , id from people)')).toBe(false)
})
