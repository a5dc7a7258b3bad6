import { sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import { migratedDatabaseUrl } from '../testing/database.ts'
import { isMigrated, MIGRATIONS, migrate, OtherVersion, WORDS } from './migrate.ts'
import { openDatabase } from './open.ts'

/** A version with one migration more. */
const newer = (needs: number | null) =>
  sql`insert into migrations (number, name, applied_at, needs) values (${MIGRATIONS.length + 1}, 'of tomorrow', 0, ${needs})`

describe.each(['sqlite', 'postgres'] as const)('a database of the next version (%s)', (engine) => {
  /** One of the test's own: those that tests share keep what is in this table. */
  const fresh = async () => {
    const { url, drop } = await migratedDatabaseUrl(engine)
    const db = openDatabase(url)
    onTestFinished(async () => {
      await db.destroy()
      await drop()
    })
    return db
  }

  test('is used by the version before, where it only added, and stays as it is', async () => {
    const db = await fresh()
    await newer(MIGRATIONS.length).execute(db)
    expect(await migrate(db, 0)).toEqual([])
    expect(await isMigrated(db)).toBe(true)
  })

  test.each([MIGRATIONS.length + 1, null])('is refused where it needs %s migrations', async (needs) => {
    const db = await fresh()
    await newer(needs).execute(db)
    await expect(migrate(db, 0)).rejects.toThrow(OtherVersion)
  })

  test('is not migrated while one is missing', async () => {
    const db = await fresh()
    await sql`delete from migrations where number = ${MIGRATIONS.length}`.execute(db)
    expect(await isMigrated(db)).toBe(false)
  })
})

test('a migration that removes or renames says since when nothing uses that', () => {
  for (const { name, needs, statements } of MIGRATIONS.slice(5)) {
    const removes = Object.values(WORDS).some((words) =>
      statements(words).some((text) => /^\s*drop|\b(drop|rename) (column|to|constraint)\b/i.test(text)),
    )
    expect(!removes || needs !== undefined, name).toBe(true)
  }
})
