import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CliError, reasonOf } from '../cli-error.ts'
import { systemClock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { type Database, engineOf } from '../database/database.ts'
import { migrate, OtherVersion } from '../database/migrate.ts'
import { openDatabase } from '../database/open.ts'
import { pathOf } from '../database/url.ts'
import { createSeal, type Seal } from '../seal.ts'
import { adoptKey, splitSecrets } from '../secrets/current-key.ts'
import { loadConfig } from './load-config.ts'
import { makePrivate } from './private-files.ts'

/** Makes the data folder where it is needed; what is in it only its owner may read. */
export function prepareDataFolder({ dataDir, databaseUrl }: Config): void {
  makeDataFolder(dataDir)
  const file = pathOf(databaseUrl)
  if (file !== undefined) makePrivate(file, dataDir)
}

export function makeDataFolder(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    const probe = join(dataDir, `.writable-${process.pid}`)
    writeFileSync(probe, '', { flag: 'w' })
    rmSync(probe)
  } catch (error) {
    throw new CliError(
      `The data folder ${dataDir} cannot be written (${reasonOf(error)}). Set DATA_DIR to a writable folder.`,
    )
  }
}

/** One SECRET on each line, the first to be used and those before it; undefined where there is none. Makes none. */
export function findSecret({ secret, secretPrevious, dataDir }: SecretSettings): string | undefined {
  if (secret !== null) return [secret, ...secretPrevious].join('\n')
  try {
    return readFileSync(join(dataDir, 'secret'), 'utf8').trim()
  } catch {
    return undefined
  }
}

type SecretSettings = Pick<Config, 'secret' | 'secretPrevious' | 'dataDir'>

/** The server's own secret, those before it, and where they are from. */
export type Secret = { text: string; previous: string[]; from: 'settings' | 'file' | 'new file'; path: string }

/** From the settings, or made once in the data folder. */
export function loadSecret({ secret, secretPrevious, dataDir }: SecretSettings): Secret {
  const path = join(dataDir, 'secret')
  if (secret !== null) return { text: secret, previous: secretPrevious, from: 'settings', path }
  let from: Secret['from'] = 'new file'
  try {
    writeFileSync(path, `${randomBytes(32).toString('base64')}\n`, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST')
      throw new CliError(`${path} cannot be written (${reasonOf(error)}).`)
    from = 'file'
  }
  const [text, ...previous] = readSecrets(path)
  return { text, previous, from, path }
}

/** Throws a `CliError` for a file that does not hold any. */
export function readSecrets(path: string): [string, ...string[]] {
  const [first = '', ...others] = splitSecrets(readFileSync(path, 'utf8'))
  if ([first, ...others].some((each) => each.length < 32))
    throw new CliError(`${path} does not contain a secret of at least 32 characters. Restore it from a backup.`)
  return [first, ...others]
}

/** Brings the database up to date, or ends with one sentence that says why it cannot be used. */
export async function prepareDatabase(
  db: Database,
  { databaseUrl }: Config,
  secret: Secret,
  seal: Seal,
): Promise<void> {
  const where = engineOf(db) === 'sqlite' ? databaseUrl : `The database at ${new URL(databaseUrl).host}`
  try {
    await migrateWithoutTimeout(db, databaseUrl)
    const adopted = await adoptKey(db, seal)
    if (adopted === 'other secret') throw new CliError(otherSecret(where, secret))
    if (adopted === 'previous secret missing') throw new CliError(previousMissing(where, secret))
  } catch (error) {
    await db.destroy().catch(() => {})
    if (error instanceof CliError) throw error
    if (error instanceof OtherVersion)
      throw new CliError(`${error.message} Start the version that created it, or restore a backup.`)
    throw new CliError(
      `${where} cannot be used: ${reasonOf(error)}. Check DATABASE_URL and whether the database is running.`,
    )
  }
}

/** A migration rewrites large tables in one statement, or waits for another node that does. */
async function migrateWithoutTimeout(db: Database, databaseUrl: string): Promise<void> {
  if (engineOf(db) === 'sqlite') return void (await migrate(db, systemClock.now()))
  const patient = openDatabase(databaseUrl, { connections: 1, timeoutMs: 0, idleMs: 0 })
  try {
    await migrate(patient, systemClock.now())
  } finally {
    await patient.destroy()
  }
}

function previousMissing(where: string, { from, path }: Secret): string {
  return from === 'settings'
    ? `A rotation of SECRET is not over: ${where} holds values that only the previous SECRET opens. Set SECRET_PREVIOUS to it, then run: zonewatch rotate-secret`
    : `A rotation of SECRET is not over: ${where} holds values that only the previous SECRET opens. Add it as a second line to ${path}, then run: zonewatch rotate-secret`
}

function otherSecret(where: string, { from, path }: Secret): string {
  if (from === 'settings') {
    return `${where} was created with another SECRET. Set SECRET to that value. If SECRET was not set then, the value is in the file "secret" of the data folder or its backup. To change it, set SECRET_PREVIOUS to the old one.`
  }
  // A new one that is left would look like the right one at the next start.
  if (from === 'new file') rmSync(path, { force: true })
  return from === 'file'
    ? `${path} is not the secret that ${where} was created with. Restore the file from the backup of the data folder, or set SECRET to that secret.`
    : `${path} is missing. It holds the secret that ${where} was created with. Restore the file from the backup of the data folder, or set SECRET to that secret.`
}

/** For commands that work on the database and end. */
export async function withDatabase<T>(work: (db: Database, config: Config, seal: Seal) => Promise<T>): Promise<T> {
  const config = loadConfig()
  prepareDataFolder(config)
  const db = openDatabase(config.databaseUrl, { connections: 2 })
  const secret = loadSecret(config)
  const seal = createSeal(secret.text, ...secret.previous)
  await prepareDatabase(db, config, secret, seal)
  try {
    return await work(db, config, seal)
  } finally {
    await db.destroy()
  }
}
