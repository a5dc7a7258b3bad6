import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { plural } from '#contract/wording.ts'
import { hasOrganizations } from '../accounts/first-owner.ts'
import { CliError, errorMessage } from '../cli-error.ts'
import { systemClock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../database/database.ts'
import { isFile } from '../database/dialect.ts'
import { INCOMPLETE_COPY, listMigrations, migrate, OtherVersion } from '../database/migrate.ts'
import { openDatabase } from '../database/open.ts'
import { isDamaged, RESTORE_GOOD_BACKUP } from '../database/unavailable.ts'
import { createKeyring, type Keyring } from '../keyring.ts'
import { adoptKey } from '../secrets/current-key.ts'
import { prepareDataFolder } from './data-folder.ts'
import { loadConfig } from './load-config.ts'
import { loadOrCreateSecret, type Secret } from './secret.ts'

/** Runs the migrations and checks SECRET. Throws a `CliError` that says why the database cannot be used. */
export async function prepareDatabase(db: Database, config: Config, secret: Secret, keyring: Keyring): Promise<void> {
  const { databaseUrl } = config
  const where = isFile(db) ? databaseUrl : `The database at ${new URL(databaseUrl).host}`
  try {
    await refuseUncopied(db, config)
    await migrateWithoutTimeout(db, databaseUrl)
    const adopted = await adoptKey(db, keyring)
    if (adopted === 'other secret') throw new CliError(otherSecret(where, secret))
    if (adopted === 'previous secret missing') throw new CliError(previousMissing(where, secret))
  } catch (error) {
    await db.destroy().catch(() => {})
    if (error instanceof CliError) throw error
    if (error instanceof OtherVersion) throw new CliError(error.message)
    const remedy = isDamaged(error) ? RESTORE_GOOD_BACKUP : 'Check DATABASE_URL and whether the database is running.'
    throw new CliError(`${where} cannot be used: ${errorMessage(error)}. ${remedy}`, { cause: error })
  }
}

/** A server that moves to PostgreSQL without its data would start empty, and check nothing. */
async function refuseUncopied(db: Database, { dataDir }: Config): Promise<void> {
  if (isFile(db)) return
  const file = join(dataDir, 'zonewatch.db')
  const found = findContent(file)
  if (found === undefined) return
  const migrations = await listMigrations(db)
  if (migrations?.names.includes(INCOMPLETE_COPY)) return // `migrate` says what to do
  if (migrations !== undefined && (await hasOrganizations(db))) return
  const monitors = plural(found.monitors, '1 monitor', (count) => `${count} monitors`)
  const organizations = plural(found.organizations, '1 organization', (count) => `${count} organizations`)
  throw new CliError(
    `DATABASE_URL is an empty database, but ${file} has ${monitors} of ${organizations}. Copy them: zonewatch copy --from sqlite:${file} (docs/guides/move-to-postgresql.md). To begin with an empty database, move ${file} to another folder.`,
  )
}

/** What an SQLite file holds; undefined if there is no such file or no organization in it. */
function findContent(file: string): { organizations: number; monitors: number } | undefined {
  if (!existsSync(file)) return undefined
  try {
    const database = new DatabaseSync(file, { readOnly: true })
    try {
      const count = (table: string) =>
        (database.prepare(`select count(*) as count from ${table}`).get() as { count: number }).count
      const organizations = count('organizations')
      return organizations === 0 ? undefined : { organizations, monitors: count('monitors') }
    } finally {
      database.close()
    }
  } catch {
    return undefined // it is not a database of Zonewatch
  }
}

/** A migration can rewrite a large table in one statement, or wait for another node that does. */
async function migrateWithoutTimeout(db: Database, databaseUrl: string): Promise<void> {
  if (isFile(db)) return void (await migrate(db, systemClock.now()))
  const withoutTimeout = openDatabase(databaseUrl, { connections: 1, timeoutMs: 0, idleMs: 0 })
  try {
    await migrate(withoutTimeout, systemClock.now())
  } finally {
    await withoutTimeout.destroy()
  }
}

function previousMissing(where: string, { source, path }: Secret): string {
  const remedy = source === 'settings' ? 'Set SECRET_PREVIOUS to it' : `Add it as a second line to ${path}`
  return `A rotation of SECRET is not over: ${where} holds values that only the previous SECRET opens. ${remedy}, then run: zonewatch rotate-secret`
}

function otherSecret(where: string, { source, path }: Secret): string {
  if (source === 'settings') {
    return `${where} was created with another SECRET. Set SECRET to that value. If SECRET was not set then, the value is in the file "secret" of the data folder or its backup. To change it, set SECRET_PREVIOUS to the old one.`
  }
  // The next start would take a new file for the right secret.
  if (source === 'new file') rmSync(path, { force: true })
  return source === 'file'
    ? `${path} is not the secret that ${where} was created with. Restore the file from the backup of the data folder, or set SECRET to that secret.`
    : `${path} is missing. It holds the secret that ${where} was created with. Restore the file from the backup of the data folder, or set SECRET to that secret.`
}

/** Opens the database for one command, after its migrations. */
export async function withDatabase<T>(
  work: (db: Database, config: Config, keyring: Keyring) => Promise<T>,
): Promise<T> {
  const config = loadConfig()
  prepareDataFolder(config)
  const db = openDatabase(config.databaseUrl, { connections: 2 })
  const secret = loadOrCreateSecret(config)
  const keyring = createKeyring(secret.text, ...secret.previous)
  await prepareDatabase(db, config, secret, keyring)
  try {
    return await work(db, config, keyring)
  } finally {
    await db.destroy()
  }
}
