import { sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Database } from '../database/database.ts'
import type { Engine } from '../database/engine.ts'
import { isMigrated, migrate, OtherVersion } from '../database/migrate.ts'
import { openDatabase } from '../database/open.ts'
import { DERIVED_TABLES, readSchema, type TableSchema } from '../database/table-schema.ts'
import { migratedDatabaseUrl, newDatabaseUrl } from '../testing/database.ts'
import { fillEveryTable } from '../testing/every-table.ts'
import { type CopyOptions, copyDatabase } from './copy-database.ts'
import type { Row } from './rows.ts'

const NOW = Date.UTC(2026, 10, 27)

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
