import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import { insertOrganization } from '../accounts/organizations.ts'
import { readConfig } from '../config/config.ts'
import type { Database } from '../database/database.ts'
import { listMigrations } from '../database/migrate.ts'
import { openDatabase } from '../database/open.ts'
import { createKeyring } from '../keyring.ts'
import { newDatabaseUrl } from '../testing/database.ts'
import { prepareDataFolder } from './data-folder.ts'
import { prepareDatabase } from './prepare-database.ts'
import { loadOrCreateSecret } from './secret.ts'

async function givenFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'zonewatch-test-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** What every process and every command does first. */
async function start(settings: Record<string, string>, work = async (_: Database) => {}): Promise<void> {
  const config = readConfig(settings)
  prepareDataFolder(config)
  const secret = loadOrCreateSecret(config)
  const db = openDatabase(config.databaseUrl, { connections: 2 })
  await prepareDatabase(db, config, secret, createKeyring(secret.text, ...secret.previous))
  await work(db)
  await db.destroy()
}

test('a restored database without its secret is refused, and no new secret is left in the folder', async () => {
  const folder = await givenFolder()
  const settings = { DATA_DIR: join(folder, 'data') }
  await start(settings)
  const file = join(folder, 'data', 'secret')
  await rm(file)
  const restart = () => start(settings)
  await expect(restart()).rejects.toThrow(
    /^\S+data\/secret is missing. It holds the secret that sqlite:\S+ was created with\. Restore the file from the backup of the data folder, or set SECRET to that secret\.$/,
  )
  await expect(restart()).rejects.toThrow('is missing')
  await writeFile(file, 'x'.repeat(40))
  await expect(restart()).rejects.toThrow(
    /^\S+data\/secret is not the secret that sqlite:\S+ was created with\. Restore the file/,
  )
  await expect(start({ ...settings, SECRET: 'y'.repeat(40) })).rejects.toThrow(
    /^sqlite:\S+ was created with another SECRET\. Set SECRET to that value\. /,
  )
})

test.each(['secret', 'zonewatch.db-wal'])(
  'a folder with %s but without the database is refused, and nothing is created',
  async (trace) => {
    const folder = await givenFolder()
    await writeFile(join(folder, trace), 'x'.repeat(40))
    const restart = () => start({ DATA_DIR: folder, ...(trace === 'secret' ? {} : { SECRET: 'x'.repeat(40) }) })
    for (let number = 0; number < 2; number++) {
      await expect(restart()).rejects.toThrow(
        `The database ${folder}/zonewatch.db is missing, but ${folder}/${trace} shows that it existed. Put the file back, or restore a backup: zonewatch restore FILE. To begin with an empty database, move ${folder}/${trace} to another folder`,
      )
    }
    expect(await readdir(folder)).toEqual([trace])
    await rm(join(folder, trace))
    await restart()
  },
)

test('a database that was lost after it was used is refused, also at another path of DATABASE_URL', async () => {
  const folder = await givenFolder()
  await start({ DATA_DIR: folder })
  for (const name of await readdir(folder)) if (name !== 'secret') await rm(join(folder, name))
  await expect(start({ DATA_DIR: folder })).rejects.toThrow('is missing')
  await expect(start({ DATA_DIR: folder, DATABASE_URL: `sqlite:${folder}/other.db` })).rejects.toThrow(
    'other.db is missing',
  )
})

test('a start that ended before its database or secret was complete is repeated, and so are two at the same time', async () => {
  const folder = await givenFolder()
  await writeFile(join(folder, 'zonewatch.db'), '')
  await start({ DATA_DIR: folder })

  const crashed = await givenFolder()
  await writeFile(join(crashed, 'zonewatch.db'), '')
  await writeFile(join(crashed, 'secret'), 'x'.repeat(40))
  await start({ DATA_DIR: crashed })

  const config = readConfig({ DATA_DIR: await givenFolder() })
  prepareDataFolder(config)
  // Another process, after the first made the database and before its secret.
  prepareDataFolder(config)
  loadOrCreateSecret(config)
  prepareDataFolder(config)
})

test('a folder that does not exist for DATABASE_URL leaves no secret that refuses the next start', async () => {
  const folder = await givenFolder()
  const settings = { DATA_DIR: folder, DATABASE_URL: `sqlite:${folder}/missing/zonewatch.db` }
  await expect(start(settings)).rejects.toThrow(`${folder}/missing/zonewatch.db cannot be created (`)
  await mkdir(join(folder, 'missing'))
  await start(settings)
})

test('a PostgreSQL database needs no file, so that a folder with only the secret starts', async () => {
  const { url, drop } = await newDatabaseUrl('postgres')
  onTestFinished(drop)
  const folder = await givenFolder()
  await writeFile(join(folder, 'secret'), 'x'.repeat(40))
  await start({ DATA_DIR: folder, DATABASE_URL: url, SECRET: 'x'.repeat(40) })
})

test('a PostgreSQL database with another SECRET is refused; the message omits the password', async () => {
  const { url, drop } = await newDatabaseUrl('postgres')
  onTestFinished(drop)
  const settings = { DATA_DIR: await givenFolder(), DATABASE_URL: url }
  await start({ ...settings, SECRET: 'x'.repeat(40) })
  const { host } = new URL(url)
  await expect(start({ ...settings, SECRET: 'y'.repeat(40) })).rejects.toThrow(
    `The database at ${host} was created with another SECRET. Set SECRET to that value.`,
  )
  await start({ ...settings, SECRET: 'x'.repeat(40) })
})

test('a database of a newer version is refused', async () => {
  const settings = { DATA_DIR: join(await givenFolder(), 'data') }
  await start(settings)
  const db = openDatabase(readConfig(settings).databaseUrl)
  await sql`insert into migrations (number, name, applied_at) values (99, 'of tomorrow', 0)`.execute(db)
  await db.destroy()
  await expect(start(settings)).rejects.toThrow(
    `This version of Zonewatch does not know the migration "of tomorrow". Start the version that created it, or restore a backup.`,
  )
})

test('only the owner can read the files in the data folder, new or existing', async () => {
  const folder = join(await givenFolder(), 'data')
  const modes = async () => {
    const names = (await readdir(folder)).sort()
    const entries = await Promise.all(names.map(async (name) => [name, (await stat(join(folder, name))).mode & 0o777]))
    return { folder: (await stat(folder)).mode & 0o777, files: Object.fromEntries(entries) }
  }
  const files = { secret: 0o600, 'zonewatch.db': 0o600, 'zonewatch.db-shm': 0o600, 'zonewatch.db-wal': 0o600 }
  await start({ DATA_DIR: folder }, async () => expect(await modes()).toEqual({ folder: 0o700, files }))
  await chmod(folder, 0o755)
  for (const name of await readdir(folder)) await chmod(join(folder, name), 0o644)
  await start({ DATA_DIR: folder }, async () => expect(await modes()).toEqual({ folder: 0o700, files }))
})

test('a folder with other files, and a file that is not a database, keep their modes', async () => {
  const folder = await givenFolder()
  await chmod(folder, 0o755)
  const file = join(folder, 'notes.txt')
  await writeFile(file, 'milk, bread', { mode: 0o644 })
  prepareDataFolder(readConfig({ DATA_DIR: folder, DATABASE_URL: `sqlite:${file}` }))
  expect([(await stat(folder)).mode & 0o777, (await stat(file)).mode & 0o777]).toEqual([0o755, 0o644])
})

test('an empty PostgreSQL beside a used SQLite file is refused, and nothing is created in it', async () => {
  const folder = await givenFolder()
  const { url, drop } = await newDatabaseUrl('postgres')
  onTestFinished(drop)
  const secret = { SECRET: 'x'.repeat(40) }
  const onPostgres = (work?: (db: Database) => Promise<void>) =>
    start({ DATA_DIR: folder, DATABASE_URL: url, ...secret }, work)
  const onSqlite = (work: (db: Database) => Promise<void>) => start({ DATA_DIR: folder, ...secret }, work)
  // A file without organizations is none to copy.
  await onSqlite(async () => {})
  const organization = { name: 'Test', email: 'owner@example.com', passwordHash: '' }
  await onSqlite(async (db) => void (await insertOrganization(db, organization, 0)))
  await expect(onPostgres()).rejects.toThrow(
    `DATABASE_URL is an empty database, but ${folder}/zonewatch.db has 0 monitors of 1 organization. Copy them: zonewatch copy --from sqlite:${folder}/zonewatch.db`,
  )
  const db = openDatabase(url, { connections: 1 })
  onTestFinished(() => db.destroy())
  expect(await listMigrations(db)).toBeUndefined()
  await rename(join(folder, 'zonewatch.db'), join(folder, 'old.db'))
  await onPostgres(async (db) => void (await insertOrganization(db, organization, 0)))
  await rename(join(folder, 'old.db'), join(folder, 'zonewatch.db'))
  await onPostgres()
})
