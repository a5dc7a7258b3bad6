import { sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import { migratedDatabaseUrl } from '../testing/database.ts'
import type { Database } from './database.ts'
import { isMigrated, MIGRATIONS, migrate, OtherVersion } from './migrate.ts'
import { DIALECTS, type Migration } from './migrations/dialect.ts'
import { openDatabase } from './open.ts'

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
