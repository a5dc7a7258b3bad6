import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { scryptPasswords } from '../accounts/passwords.ts'
import { findAccount } from '../accounts/people.ts'
import { newDatabaseUrl } from '../testing/database.ts'
import { type Database, openDatabase } from './database.ts'
import { type Migration, migrate, WORDS } from './migrate.ts'
import { baseline } from './migrations/0001-baseline.ts'
import { auditLog } from './migrations/0002-audit-log.ts'

const PASSWORD = 'correct horse ﬁ'
const HASH =
  '4344a1b4ae098e49e4757eb85eb58d01:03e668af547b56c91bc6070c1e4ceba2d6c9ec3ad1fdc42ecffd50e1c93b7dd217d7f04b20631eff5c706d64dbf937b613492eae562f938b6d24e4bfe728c0c4'

test.each(['sqlite', 'postgres'] as const)('passwords of before stay valid (%s)', async (engine) => {
  const { url, drop } = await newDatabaseUrl(engine)
  const db = openDatabase(url)
  onTestFinished(async () => {
    await db.destroy()
    await drop()
  })
  await migrateWith(db, engine, [baseline, auditLog])
  await sql`insert into people (id, created_at, email, name, two_factor_enabled) values
    ('usr_1', 1, 'ada@example.com', 'Ada', 1), ('usr_2', 1, 'bob@example.com', 'Bob', 0)`.execute(db)
  await sql`insert into credentials (id, person_id, provider_id, account_id, password, created_at, updated_at)
    values ('crd_1', 'usr_1', 'credential', 'usr_1', ${HASH}, 1, 1)`.execute(db)

  await migrate(db, 2)

  const ada = await findAccount(db, 'ada@example.com')
  expect(ada).toMatchObject({ passwordHash: HASH, hasSecondFactor: false })
  expect(await scryptPasswords.verify({ hash: HASH, password: PASSWORD })).toBe(true)
  expect(await scryptPasswords.verify({ hash: HASH, password: 'correct horse' })).toBe(false)
  expect((await findAccount(db, 'bob@example.com'))?.passwordHash).toBeNull()
})

/** As a version that had these alone. */
async function migrateWith(db: Database, engine: 'sqlite' | 'postgres', migrations: Migration[]): Promise<void> {
  const { INTEGER } = WORDS[engine]
  const table = `create table migrations (number ${INTEGER} primary key, name text, applied_at ${INTEGER})`
  await sql.raw(table).execute(db)
  for (const [index, { name, statements }] of migrations.entries()) {
    for (const statement of statements(WORDS[engine])) await sql.raw(statement).execute(db)
    await sql`insert into migrations (number, name, applied_at) values (${index + 1}, ${name}, 1)`.execute(db)
  }
}
