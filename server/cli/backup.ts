import { mkdirSync, type Stats, statSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { plural } from '#contract/wording.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { shownOctets } from '../backup/archive.ts'
import { backUp, type MadeBackup } from '../backup/back-up.ts'
import { type LastBackup, recordFailedBackup, recordMadeBackup } from '../backup/last-backup.ts'
import { backupNameOf, deleteOldBackups, deleteUnfinished } from '../backup/schedule.ts'
import { CliError, reasonOf } from '../cli-error.ts'
import { systemClock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../database/database.ts'
import { openDatabase } from '../database/open.ts'
import { pathOf } from '../database/url.ts'
import { createLog } from '../log.ts'
import { isSecretOf } from '../secrets/current-key.ts'
import { isAlive } from './is-alive.ts'
import { loadConfig } from './load-config.ts'
import { findSecret } from './open.ts'

export type BackupCommandOptions = { secret: boolean; json?: boolean }

/** `zonewatch backup FILE`: one file of the database and its secret, while the server runs or not. */
export async function backup(file: string, { secret: withSecret, json }: BackupCommandOptions): Promise<void> {
  const config = loadConfig()
  const target = resolve(file)
  const { octets, rows } = await makeBackup(config, target, { withSecret })
  if (json) return void process.stdout.write(`${JSON.stringify({ file: target, octets, rows })}\n`)
  process.stdout.write(`${target}: ${shownOctets(octets)}, verified. It holds ${shownRows(rows)}.
${
  withSecret
    ? 'The file contains SECRET: anyone who reads it can read the secrets of all webhooks.'
    : 'The secret is not in it: to restore, set SECRET, or put the file "secret" into DATA_DIR first.'
}
`)
}

/** `zonewatch record-backup [FILE]`: of a backup that another program made or failed to make. */
export async function recordBackup(file: string | undefined, failed: string | undefined): Promise<void> {
  if ((file === undefined) === (failed === undefined)) throw new CliError('Give either a file or --failed REASON.')
  const { databaseUrl } = loadConfig()
  const made = file === undefined ? undefined : madeBackup(file)
  const db = openDatabase(databaseUrl)
  try {
    if (made) await recordMadeBackup(db, made)
    else await recordFailedBackup(db, reasonOfFailure(failed!), systemClock.now())
  } finally {
    await db.destroy()
  }
}

const MOST_OF_REASON = 1_000
/** A script whose variable is empty reports a failure all the same. */
const reasonOfFailure = (given: string) => given.trim().slice(0, MOST_OF_REASON) || 'No reason was given.'

function madeBackup(file: string): NonNullable<LastBackup['made']> {
  const path = resolve(file)
  const stat = statOf(path)
  if (!stat.isFile()) throw new CliError(`The backup ${path} is not a file. Give the file of the dump.`)
  if (stat.size === 0) throw new CliError(`The backup ${path} has no content. Make it again, or use --failed REASON.`)
  return { at: Math.round(stat.mtimeMs), path, octets: stat.size, durationMs: 0 } // how long it took is not known
}

function statOf(path: string): Stats {
  try {
    return statSync(path)
  } catch (error) {
    throw new CliError(`The backup ${path} cannot be read (${reasonOf(error)}).`)
  }
}

/** One scheduled backup, in a process of its own: verifying takes as long as reading the whole database. */
export async function scheduledBackup(): Promise<void> {
  const config = loadConfig()
  const log = await createLog(config)
  const { backupDir: folder, backupKeep } = config
  if (folder === null) throw new CliError('BACKUP_DIR is not set.')
  try {
    setPriority(constants.priority.PRIORITY_LOW)
  } catch {} // a service manager may forbid it: the backup is made all the same
  const now = systemClock.now()
  const path = join(folder, backupNameOf(now))
  try {
    deleteUnfinished(folder, isAlive, now)
    const { octets } = await makeBackup(config, path, { withSecret: true, makesFolder: true })
    const deleted = deleteOldBackups(folder, backupKeep)
    log.info({ path, octets, deleted }, 'Created and verified a backup.')
  } catch (error) {
    log.error({ path, reason: reasonOf(error) }, 'The backup failed. Checks and deliveries continue. Retrying.')
    if (!(error instanceof CliError)) log.error({ err: error }, 'This is why the backup failed.')
    process.exitCode = 1
  }
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new CliError(`BACKUP_DIR ${folder} cannot be created (${reasonOf(error)}). Set it to a writable folder.`)
  }
}

/** Records the result in the database. */
async function makeBackup(
  config: Config,
  target: string,
  { withSecret, makesFolder = false }: { withSecret: boolean; makesFolder?: boolean },
): Promise<MadeBackup> {
  const source = sourceOf(config)
  const now = systemClock.now()
  const startedAt = systemClock.elapsed()
  try {
    if (makesFolder) makeFolder(dirname(target))
    const secret = withSecret ? secretOf(config, source) : null
    const made = await backUp({ source, target, secret, version: packageJson.version, now })
    const durationMs = Math.round(systemClock.elapsed() - startedAt)
    await note(config, (db) => recordMadeBackup(db, { at: now, path: target, octets: made.octets, durationMs }))
    return made
  } catch (error) {
    await note(config, (db) => recordFailedBackup(db, reasonOf(error), now))
    throw error
  }
}

function sourceOf({ databaseUrl }: Config): string {
  const path = pathOf(databaseUrl)
  if (path !== undefined) return path
  throw new CliError(
    'zonewatch backup copies SQLite. Back up PostgreSQL with pg_dump, and keep SECRET apart: docs/guides/back-up-and-restore.md.',
  )
}

/** Throws for one that does not open what is in the database: such a backup would be worth nothing. */
function secretOf(config: Config, source: string): string {
  const secret = findSecret(config)
  if (secret === undefined) {
    throw new CliError(
      `${join(config.dataDir, 'secret')} cannot be read. Run this as the user of the server and with its settings, or leave the secret out: --without-secret.`,
    )
  }
  if (opensSource(source, secret)) return secret
  throw new CliError(
    'The secret is not the one of the database. Run this with the settings of the server (SECRET, DATA_DIR).',
  )
}

function opensSource(source: string, secret: string): boolean {
  try {
    const database = new DatabaseSync(source, { readOnly: true, timeout: 5_000 })
    try {
      const row = database.prepare('select value from secret_check').get() as { value: Uint8Array } | undefined
      return row === undefined || isSecretOf(secret, row.value)
    } finally {
      database.close()
    }
  } catch {
    return true // what is wrong with the file, the backup itself says
  }
}

/** A database of an older version, a full disk: the backup counts, and the record of it can be missing. */
async function note({ databaseUrl }: Config, write: (db: Database) => Promise<void>): Promise<void> {
  const db = openDatabase(databaseUrl)
  await write(db).catch(() => {})
  await db.destroy().catch(() => {})
}

/** What people know of it. */
export function shownRows(rows: Record<string, number>): string {
  const count = (table: string) => rows[table] ?? 0
  return [
    plural(count('organizations'), '1 organization', (number) => `${number} organizations`),
    plural(count('monitors'), '1 monitor', (number) => `${number} monitors`),
    plural(count('events'), '1 event', (number) => `${number} events`),
    plural(count('webhook_requests'), '1 webhook request', (number) => `${number} webhook requests`),
  ].join(', ')
}
