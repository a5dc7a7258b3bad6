import { sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import { migratedDatabaseUrl } from '../testing/database.ts'
import type { Database } from './database.ts'
import { engineOf } from './engine.ts'
import { isMigrated, listMigrations, MIGRATIONS, migrate, OtherVersion } from './migrate.ts'
import { EARLIER_MIGRATIONS, RENAMED_COLUMNS } from './migrations/0001-adopt.ts'
import { DIALECTS, type Migration } from './migrations/dialect.ts'
import { openDatabase } from './open.ts'

const NAMES = MIGRATIONS.map(({ name }) => name)

describe.each(['sqlite', 'postgres'] as const)('migrate (%s)', (engine) => {
  /** A database that this test may damage. */
  const fresh = async () => {
    const { url, drop } = await migratedDatabaseUrl(engine)
    const db = openDatabase(url)
    onTestFinished(async () => {
      await db.destroy()
      await drop()
    })
    return db
  }

  test('leaves a database of the next version as it is, where that version only added', async () => {
    const db = await fresh()
    await insertNextMigration(db, MIGRATIONS.length)
    expect(await migrate(db, 0)).toEqual([])
    expect(await isMigrated(db)).toBe(true)
  })

  test.each([MIGRATIONS.length + 1, null])(
    'refuses a database of the next version that needs %s migrations',
    async (needs) => {
      const db = await fresh()
      await insertNextMigration(db, needs)
      await expect(migrate(db, 0)).rejects.toThrow(OtherVersion)
    },
  )

  test('a database without the last migration is not migrated', async () => {
    const db = await fresh()
    await sql`delete from migrations where number = ${MIGRATIONS.length}`.execute(db)
    expect(await isMigrated(db)).toBe(false)
  })

  test('adopts a database of a build before the baseline with its rows and indexes', async () => {
    const db = await fresh()
    const schema = await schemaOf(db)
    await insertMonitor(db)
    await revertToEarlierBuild(db, EARLIER_MIGRATIONS)
    expect(await isMigrated(db)).toBe(false)
    expect(await listMigrations(db)).toEqual({ names: [], known: MIGRATIONS.length })

    expect(await migrate(db, 7)).toEqual(NAMES.slice(1))
    expect(await listMigrations(db)).toEqual({ names: NAMES, known: MIGRATIONS.length })
    expect(await isMigrated(db)).toBe(true)
    // The time of the first migration is part of the setup link.
    const [first] = (await sql`select * from migrations order by number`.execute(db)).rows
    expect(first).toMatchObject({ number: 1, applied_at: 0, needs: 0 })
    expect(await schemaOf(db)).toEqual(schema)
    expect(await db.selectFrom('due_checks').select('inconclusive_count').execute()).toEqual([
      { inconclusive_count: 3 },
    ])
    expect(await db.selectFrom('monitors').select('name_order').execute()).toEqual([{ name_order: 'com example www' }])
    expect(await db.selectFrom('monitor_texts').select('monitor_id').execute()).toEqual([{ monitor_id: 'mon_1' }])
  })

  test('refuses a database with only some of the migrations before the baseline, and names the build to start first', async () => {
    const db = await fresh()
    await revertToEarlierBuild(db, EARLIER_MIGRATIONS.slice(0, 12))
    await expect(migrate(db, 0)).rejects.toThrow(
      'The database has 12 of the 29 migrations of the 0.1.0 builds before the baseline. Start the last of those builds once to complete them, then this version (docs/guides/upgrade.md).',
    )
  })
})

test.each([
  ['alter table monitors drop column notify', true],
  ['alter table monitors rename column notify to alerts', true],
  ['drop index monitors_by_name', true],
  ['alter table monitors add column note text', false],
])('whether "%s" removes something: %s', (statement, isRemoval) => {
  expect(removesSomething({ name: '', statements: () => [statement] })).toBe(isRemoval)
})

test('a migration that removes or renames says since when nothing uses that', () => {
  for (const migration of MIGRATIONS)
    expect(!removesSomething(migration) || migration.needs !== undefined, migration.name).toBe(true)
})

function removesSomething({ statements }: Migration): boolean {
  return Object.values(DIALECTS)
    .flatMap((dialect) => statements(dialect))
    .some((text) => /^\s*drop|\b(drop|rename) (column|to|constraint)\b/i.test(text))
}

async function insertNextMigration(db: Database, needs: number | null): Promise<void> {
  await sql`insert into migrations (number, name, applied_at, needs)
    values (${MIGRATIONS.length + 1}, 'of the next version', 0, ${needs})`.execute(db)
}

async function insertMonitor(db: Database): Promise<void> {
  for (const statement of [
    `insert into organizations (id, created_at, name, slug) values ('org_1', 0, 'T', 't')`,
    `insert into groups (id, organization_id, created_at, name, slug, is_default)
      values ('grp_1', 'org_1', 0, 'Default', 'default', 1)`,
    `insert into monitors (id, organization_id, group_id, created_at, domain, subdomain, owner, record_type, expected_values,
        is_exact_match, is_active, notify, frequency, state, slot)
      values ('mon_1', 'org_1', 'grp_1', 0, 'example.com', 'www', 'www.example.com', 'A', '[]', 1, 1, 'all', 5, 'UNSET', 1)`,
    `insert into due_checks (slot, monitor_id, organization_id, owner, record_type, is_exact_match, frequency, inconclusive_count)
      values (1, 'mon_1', 'org_1', 'www.example.com', 'A', 1, 5, 3)`,
  ])
    await sql.raw(statement).execute(db)
}

/** Undoes what adoption does, with these of the earlier migrations, and before the monitor got its text and order. */
async function revertToEarlierBuild(db: Database, migrations: readonly string[]): Promise<void> {
  const { INTEGER } = DIALECTS[engineOf(db)]
  const constraints = [
    ['monitors', 'group_id'],
    ['events', 'monitor_id'],
    ['group_webhooks', 'group_id'],
    ['group_webhooks', 'webhook_id'],
  ].map(
    ([table, column]) =>
      `alter table ${table} rename constraint ${table}_${column}_organization_id_fkey to ${table}_${column}_fkey`,
  )
  const later = MIGRATIONS.slice(1).flatMap(({ statements }) => statements(DIALECTS[engineOf(db)]))
  for (const statement of [
    ...later.reverse().map(oppositeOf),
    ...RENAMED_COLUMNS.map(([table, from, to]) => `alter table ${table} rename column ${to} to ${from}`),
    `alter table idempotent_requests add column leased_until ${INTEGER} not null default 0`,
    'drop index due_requests_manual',
    'create index due_requests_by_hand on due_requests (webhook_id, due_at, request_id) where by_hand = 1',
    'drop index attempts_by_last_attempt',
    'create index attempts_by_made on attempts (made_at)',
    `create index monitors_failing on monitors (organization_id, state, domain, id)
      where is_active = 1 and state <> 'VALID' and state <> 'UNSET'`,
    'update monitors set name_order = null',
    'delete from monitor_texts',
    `create table search_fill (number ${INTEGER} primary key, after_id text not null)`,
    `create table name_order_fill (number ${INTEGER} primary key, after_id text not null)`,
    'delete from migrations',
    ...(engineOf(db) === 'postgres' ? constraints : []),
    ...migrations.map(
      (name, index) => `insert into migrations (number, name, applied_at) values (${index + 1}, '${name}', ${index})`,
    ),
  ])
    await sql.raw(statement).execute(db)
}

/** Removes what a statement of a migration added, and adds what it removed. */
function oppositeOf(statement: string): string {
  if (statement === 'drop index due_checks_by_last_checked')
    return 'create index due_checks_by_last_checked on due_checks (organization_id, last_checked_at, monitor_id)'
  if (/^(update views|insert into incident_groups) /.test(statement)) return 'select 1'
  const [, table, column] = /^alter table (\w+) add column (\w+)/.exec(statement) ?? []
  if (table !== undefined) return `alter table ${table} drop column ${column}`
  const [, kind, name] = /^create (?:unique )?(table|index) (\w+)/.exec(statement) ?? []
  if (kind === undefined) throw new Error(`Say how to undo: ${statement}`)
  return `drop ${kind} ${name}`
}

/** Columns, constraints and indexes of every table, sorted. */
async function schemaOf(db: Database): Promise<string[]> {
  const columns = sql<{ line: string }>`select m.name || '.' || c.name || ' ' || c.type || c."notnull" || c.pk
      || coalesce(c.dflt_value, '') as line
    from sqlite_schema m, pragma_table_xinfo(m.name) c where m.type = 'table'
    union all select m.name || ' (' || group_concat(i.name order by i.seqno) || ')'
    from sqlite_schema m, pragma_index_info(m.name) i where m.type = 'index' group by m.name order by 1`
  const catalog = sql<{ line: string }>`select table_name || '.' || column_name || ' ' || data_type || is_nullable
      || coalesce(column_default, '') as line
    from information_schema.columns where table_schema = 'public'
    union all select conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) from pg_constraint
    where connamespace = 'public'::regnamespace and contype <> 'n'
    union all select indexdef from pg_indexes where schemaname = 'public'
    union all select pg_get_functiondef(oid) from pg_proc where pronamespace = 'public'::regnamespace order by 1`
  const { rows } = await (engineOf(db) === 'sqlite' ? columns : catalog).execute(db)
  return rows.map(({ line }) => line)
}
