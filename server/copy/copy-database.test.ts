import { sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Database, type Engine, engineOf } from '../database/database.ts'
import { isMigrated, migrate, OtherVersion } from '../database/migrate.ts'
import { openDatabase } from '../database/open.ts'
import { migratedDatabaseUrl, newDatabaseUrl } from '../testing/database.ts'
import { type CopyOptions, copyDatabase } from './copy-database.ts'
import { insertRows, type Row } from './rows.ts'
import { DERIVED_TABLES, readSchema, type TableSchema } from './table-schema.ts'

const NOW = Date.UTC(2026, 10, 27)
const ROWS = 7

describe.each([
  ['sqlite', 'postgres'],
  ['postgres', 'sqlite'],
] as const)('a copy from %s to %s', (from, to) => {
  test('has every row of every table, and the search and the numbers that the database generates continue', async () => {
    const [source, target] = [await givenMigrated(from), await givenEmpty(to)]
    const filled = await fillEveryTable(source)
    const { tables, resumed } = await copy(source, target)
    expect(resumed).toBe(false)
    const names = (await source.introspection.getTables()).map(({ name }) => name)
    // FTS5 keeps its index in tables of its own, which the triggers of monitor_texts write.
    const compared = names.filter((name) => !name.startsWith('monitor_search'))
    expect(compared.length).toBeGreaterThan(50)
    for (const name of compared) {
      const rows = await contentOf(source, name)
      expect(rows.length, name).toBeGreaterThan(0)
      expect(await contentOf(target, name), name).toEqual(name === 'processes' ? [] : rows)
      if (!DERIVED_TABLES.includes(name) && name !== 'migrations') expect(tables[name]?.rows, name).toBe(rows.length)
    }
    expect(await isMigrated(target)).toBe(true)
    expect(await migrate(target, NOW)).toEqual([])
    const { id } = await target
      .insertInto('processes')
      .values({ pid: 1, machine: 'm', started_at: NOW, seen_at: NOW })
      .returning('id')
      .executeTakeFirstOrThrow()
    expect(id).toBe(filled.lastProcess + 1)
  })

  test('that was interrupted is used by no server, and continues', async () => {
    const [source, target] = [await givenMigrated(from), await givenEmpty(to)]
    await fillEveryTable(source)
    let batches = 0
    const interrupt = () => {
      if (++batches === 20) throw new Error('killed')
    }
    await expect(copy(source, target, { onProgress: interrupt })).rejects.toThrow('killed')
    await expect(migrate(target, NOW)).rejects.toThrow(OtherVersion)
    await expect(migrate(target, NOW)).rejects.toThrow('The copy into this database is not complete.')
    expect((await copy(source, target)).resumed).toBe(true)
    expect(await contentOf(target, 'monitors')).toEqual(await contentOf(source, 'monitors'))
    expect(await migrate(target, NOW)).toEqual([])
  })

  test('that was interrupted does not continue after a server has used the source', async () => {
    const [source, target] = [await givenMigrated(from), await givenEmpty(to)]
    await fillEveryTable(source)
    let batches = 0
    const interrupt = () => {
      if (++batches === 20) throw new Error('killed')
    }
    await expect(copy(source, target, { onProgress: interrupt })).rejects.toThrow('killed')
    await source.insertInto('processes').values({ pid: 9, machine: 'm', started_at: 0, seen_at: 0 }).execute()
    await expect(copy(source, target)).rejects.toThrow('or a server has used the source since')
  })

  test('notices a row that changed during a pause', async () => {
    const [source, target] = [await givenMigrated(from), await givenEmpty(to)]
    await fillEveryTable(source)
    let hasCopied = false
    const interrupt: CopyOptions['onProgress'] = ({ table }) => {
      if (hasCopied) throw new Error('killed')
      hasCopied = table === 'people'
    }
    await expect(copy(source, target, { onProgress: interrupt })).rejects.toThrow('killed')
    await sql`update people set name = 'another' where id = 'people.id.2'`.execute(source)
    await expect(copy(source, target)).rejects.toThrow('The table people differs')
    await expect(migrate(target, NOW)).rejects.toThrow(OtherVersion)
  })

  test('locks the source: a change waits until the copy is verified', async () => {
    const [source, target] = [await givenMigrated(from), await givenEmpty(to)]
    await fillEveryTable(source)
    let writing: Promise<void> | undefined
    const write = async () => {
      await sql`update people set name = 'another'`.execute(source)
      hasWritten = true
    }
    let hasWritten = false
    const seen: boolean[] = []
    const onProgress = () => {
      writing ??= write()
      seen.push(hasWritten)
    }
    await copy(source, target, { onProgress })
    expect(seen.length).toBeGreaterThan(100)
    expect(seen).not.toContain(true)
    await writing
    expect(hasWritten).toBe(true)
  })
})

describe.each(['sqlite', 'postgres'] as const)('a copy into %s is refused', (to) => {
  test('where the target has an organization, an account, or rows of a deleted organization', async () => {
    const source = await givenMigrated('sqlite')
    for (const statement of [
      "insert into organizations (id, created_at, name, slug) values ('org_1', 0, 'T', 't')",
      "insert into people (id, created_at, email, name) values ('usr_1', 0, 'a@example.com', 'A')",
      "insert into webhook_storage (organization_id, octets) values ('org_1', 5)",
    ]) {
      const target = await givenMigrated(to)
      await sql.raw(statement).execute(target)
      await expect(copy(source, target)).rejects.toThrow(/is not empty: its table \w+ has rows/)
      expect(await migrate(target, NOW)).toEqual([])
    }
  })

  test('while a server uses the source or the target', async () => {
    const [source, target] = [await givenMigrated('sqlite'), await givenMigrated(to)]
    const beat = (db: Database) =>
      db
        .insertInto('processes')
        .values({ pid: 1, machine: 'm', started_at: 0, seen_at: NOW - 9_000 })
        .execute()
    await beat(target)
    await expect(copy(source, target)).rejects.toThrow('A server uses the target: it wrote 9 seconds ago')
    await beat(source)
    await expect(copy(source, target)).rejects.toThrow('A server uses the source')
  })

  test('from or into another version, and from a database that is none of Zonewatch', async () => {
    const [source, target] = [await givenMigrated('sqlite'), await givenMigrated(to)]
    await sql`delete from migrations where number > 3`.execute(target)
    await expect(copy(source, target)).rejects.toThrow('the target is of another version')
    await sql`delete from migrations where number > 3`.execute(source)
    await expect(copy(source, target)).rejects.toThrow('the source is of an older version')
    await sql`insert into migrations (number, name, applied_at) values (4, 'unknown', 0)`.execute(source)
    await expect(copy(source, target)).rejects.toThrow('the source is of a newer version')
    await expect(copy(await givenEmpty('sqlite'), target)).rejects.toThrow('the source is not a database of Zonewatch')
  })

  test('not where a server without organizations has used it', async () => {
    const [source, target] = [await givenMigrated('sqlite'), await givenMigrated(to)]
    await fillEveryTable(source)
    await target.insertInto('processes').values({ pid: 1, machine: 'm', started_at: 0, seen_at: 0 }).execute()
    await target
      .insertInto('secret_check')
      .values({ number: 1, value: Buffer.from('another') })
      .execute()
    await copy(source, target)
    expect(await contentOf(target, 'secret_check')).toEqual(await contentOf(source, 'secret_check'))
  })
})

test('both engines have the same tables and columns', async () => {
  const [sqlite, postgres] = [
    await readSchema(await givenMigrated('sqlite')),
    await readSchema(await givenMigrated('postgres')),
  ]
  const describeTables = (tables: TableSchema[]) =>
    Object.fromEntries(
      tables.map(({ name, columns, serial }) => [name, { columns: Object.keys(columns).sort(), serial }]),
    )
  expect(describeTables(sqlite)).toEqual(describeTables(postgres))
})

const copy = (source: Database, target: Database, options: Partial<CopyOptions> = {}) =>
  copyDatabase({
    ...{ source, target, sourceName: 'the source', targetName: 'the target', now: NOW, onProgress: () => {} },
    ...options,
  })

const givenEmpty = (engine: Engine) => open(newDatabaseUrl(engine))
const givenMigrated = (engine: Engine) => open(migratedDatabaseUrl(engine))

async function open(created: ReturnType<typeof newDatabaseUrl>): Promise<Database> {
  const { url, drop } = await created
  const db = openDatabase(url, { connections: 3 })
  onTestFinished(async () => {
    await db.destroy()
    await drop()
  })
  return db
}

/** Different rows in every table, however many there are: a new one needs no line here. */
async function fillEveryTable(db: Database) {
  const checks = await allowedValues()
  const references = await foreignKeys(db)
  const rowsOf = new Map<string, Row[]>()
  const schema = await readSchema(db)
  for (const [at, table] of schema.entries()) {
    const isSingle = checks.get(`${table.name}.number`) === 1
    const rows = Array.from({ length: isSingle ? 1 : ROWS }, (_, index) => {
      const number = index + 1
      const row: Row = {}
      for (const [column, type] of Object.entries(table.columns)) {
        const allowed = checks.get(`${table.name}.${column}`)
        const text = `${table.name}.${column}.${number}`
        if (allowed !== undefined) row[column] = allowed
        else if (table.name === 'processes' && column === 'seen_at') row[column] = number
        else if (column === 'name_order') row[column] = `${number} owner monitors`
        else if (column === 'organization_id') row[column] = `organizations.id.${number}`
        else if (type === 'text')
          row[column] = `${text} ü "\\`.slice(0, column.endsWith('id') || column === 'owner' ? text.length : undefined)
        else if (type === 'bytea') row[column] = Buffer.from([0, 255, number, ...Buffer.from(text)])
        else row[column] = column.startsWith('is_') ? 1 : 2 ** 52 - at * 100 - number
      }
      for (const { table: of, column, to, toColumn } of references)
        if (of === table.name) row[column] = rowsOf.get(to)![number - 1]![toColumn]!
      return row
    })
    rowsOf.set(table.name, rows)
    await insertRows(db, table, rows)
  }
  // As if the last ten processes had ended.
  const lastProcess = 2 ** 52
  if (engineOf(db) === 'sqlite') await sql`update sqlite_sequence set seq = ${lastProcess}`.execute(db)
  else await sql`select setval(pg_get_serial_sequence('processes', 'id'), ${lastProcess})`.execute(db)
  return { lastProcess }
}

/** The first value that a check constraint allows, by table and column; read from SQLite, which keeps the statements. */
async function allowedValues(): Promise<Map<string, string | number>> {
  const db = await givenMigrated('sqlite')
  const { rows } = await sql<{ name: string; text: string }>`select name, sql as text from sqlite_schema
    where type = 'table' and sql is not null`.execute(db)
  const allowed = new Map<string, string | number>()
  for (const { name, text } of rows) {
    for (const [, column, value] of text.matchAll(/check \((\w+) in \('(\w+)'/g))
      allowed.set(`${name}.${column}`, value!)
    for (const [, column, value] of text.matchAll(/check \((\w+) = (\d+)\)/g))
      allowed.set(`${name}.${column}`, Number(value))
  }
  return allowed
}

type ForeignKey = { table: string; column: string; to: string; toColumn: string }

async function foreignKeys(db: Database): Promise<ForeignKey[]> {
  const sqlite = sql<ForeignKey>`select t.name as "table", f."from" as "column", f."table" as "to", f."to" as "toColumn"
    from sqlite_schema t, pragma_foreign_key_list(t.name) f where t.type = 'table'`
  const postgres = sql<ForeignKey>`select t.relname as "table", a.attname as "column", r.relname as "to", b.attname as "toColumn"
    from pg_constraint c join pg_class t on t.oid = c.conrelid join pg_class r on r.oid = c.confrelid,
      unnest(c.conkey, c.confkey) as keys (own, other)
      join pg_attribute a on a.attnum = own join pg_attribute b on b.attnum = other
    where c.contype = 'f' and a.attrelid = c.conrelid and b.attrelid = c.confrelid`
  return (await (engineOf(db) === 'sqlite' ? sqlite : postgres).execute(db)).rows
}

/** What the engines count differently. */
const OF_THE_ENGINE = ['monitor_texts.number', 'migrations.needs']

/** All rows as text, sorted. */
async function contentOf(db: Database, table: string): Promise<string[]> {
  const { rows } = await sql<Row>`select * from ${sql.table(table)}`.execute(db)
  return rows
    .map((row) => {
      const entries = Object.entries(row).filter(([column]) => !OF_THE_ENGINE.includes(`${table}.${column}`))
      return JSON.stringify(
        entries
          .sort()
          .map(([column, value]) => [column, value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value]),
      )
    })
    .sort()
}
