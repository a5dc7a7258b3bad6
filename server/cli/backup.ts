import { existsSync, mkdirSync, type Stats, statSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { plural } from '#contract/wording.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { formatBytes } from '../backup/archive.ts'
import { type BackupResult, backUp } from '../backup/back-up.ts'
import { type LastBackup, recordFailedBackup, recordMadeBackup } from '../backup/last-backup.ts'
import { backupNameOf, deleteOldBackups, deleteUnfinished } from '../backup/schedule.ts'
import { CliError, errorMessage } from '../cli-error.ts'
import { systemClock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../database/database.ts'
import { openDatabase } from '../database/open.ts'
import { sqlitePathOf } from '../database/url.ts'
import { createLog } from '../log.ts'
import { isSecretOf } from '../secrets/current-key.ts'
import { print, printJson } from './arguments.ts'
import { isAlive } from './is-alive.ts'
import { loadConfig } from './load-config.ts'
import { findSecret } from './secret.ts'

export type BackupCommandOptions = { secret: boolean; json?: boolean }

/** `zonewatch backup FILE`: backs up the database and its secret into one file. The server may run meanwhile. */
export async function backup(file: string, { secret: withSecret, json }: BackupCommandOptions): Promise<void> {
  const config = loadConfig()
  const target = resolve(file)
  requireSqlitePath(config)
  refuseMistypedTarget(target)
  deleteUnfinished(dirname(target), isAlive, systemClock.now())
  const { bytes, rows } = await createBackup(config, target, { withSecret })
  if (json) return printJson({ file: target, octets: bytes, rows })
  print(`${target}: ${formatBytes(bytes)}, verified. It holds ${rowCountsText(rows)}.
${
  withSecret
    ? 'The file contains SECRET: anyone who reads it can read the secrets of all webhooks.'
    : 'The secret is not in it: to restore, set SECRET, or put the file "secret" into DATA_DIR first.'
}`)
}

/** Before anything is recorded: a mistyped path is no failed backup, and raises no alert. */
function refuseMistypedTarget(target: string): void {
  if (existsSync(target)) throw new CliError(`${target} already exists. Use another file name, or remove that file.`)
  const folder = dirname(target)
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw new CliError(`${folder} is not a folder. Use the path of a new file in a folder that exists.`)
  }
}

/** `zonewatch record-backup [FILE]`: records a backup that another program made, or that failed. */
export async function recordBackup(file: string | undefined, failure: string | undefined): Promise<void> {
  if ((file === undefined) === (failure === undefined)) throw new CliError('Give either a file or --failed REASON.')
  const { databaseUrl } = loadConfig()
  const backup = file === undefined ? undefined : describeBackupFile(file)
  const db = openDatabase(databaseUrl)
  try {
    if (backup) await recordMadeBackup(db, backup)
    else await recordFailedBackup(db, failureReason(failure!), systemClock.now())
  } finally {
    await db.destroy()
  }
}

const MAX_REASON_LENGTH = 1_000
/** A script can pass an empty variable: that is a failure too. */
const failureReason = (text: string) => text.trim().slice(0, MAX_REASON_LENGTH) || 'No reason was given.'

function describeBackupFile(file: string): NonNullable<LastBackup['made']> {
  const path = resolve(file)
  const stat = statFile(path)
  if (!stat.isFile()) throw new CliError(`The backup ${path} is not a file. Give the file of the dump.`)
  if (stat.size === 0) throw new CliError(`The backup ${path} has no content. Make it again, or use --failed REASON.`)
  return { at: Math.round(stat.mtimeMs), path, bytes: stat.size, durationMs: 0 } // the duration is unknown
}

function statFile(path: string): Stats {
  try {
    return statSync(path)
  } catch (error) {
    throw new CliError(`The backup ${path} cannot be read (${errorMessage(error)}).`)
  }
}

/** One scheduled backup. It runs in a separate process, because verifying it reads the whole database. */
export async function scheduledBackup(): Promise<void> {
  const config = loadConfig()
  const log = await createLog(config)
  const { backupDir: folder, backupKeep } = config
  if (folder === null) throw new CliError('BACKUP_DIR is not set.')
  try {
    setPriority(constants.priority.PRIORITY_LOW)
  } catch {} // a service manager may forbid it; the backup runs with normal priority then
  const now = systemClock.now()
  const path = join(folder, backupNameOf(now))
  try {
    deleteUnfinished(folder, isAlive, now)
    const { bytes } = await createBackup(config, path, { withSecret: true, createFolder: true })
    const deleted = deleteOldBackups(folder, backupKeep)
    log.info({ path, octets: bytes, deleted }, 'Created and verified a backup.')
  } catch (error) {
    log.error({ path, reason: errorMessage(error) }, 'The backup failed. Checks and deliveries continue. Retrying.')
    if (!(error instanceof CliError)) log.error({ err: error }, 'This is why the backup failed.')
    process.exitCode = 1
  }
}

/** Records the result in the database. */
async function createBackup(
  config: Config,
  target: string,
  { withSecret, createFolder = false }: { withSecret: boolean; createFolder?: boolean },
): Promise<BackupResult> {
  const source = requireSqlitePath(config)
  const now = systemClock.now()
  const startedAt = systemClock.elapsed()
  try {
    if (createFolder) createBackupFolder(dirname(target))
    const secret = withSecret ? getSecretOf(config, source) : null
    const backup = await backUp({ source, target, secret, version: packageJson.version, now })
    const durationMs = Math.round(systemClock.elapsed() - startedAt)
    await tryToRecord(config, (db) => recordMadeBackup(db, { at: now, path: target, bytes: backup.bytes, durationMs }))
    return backup
  } catch (error) {
    await tryToRecord(config, (db) => recordFailedBackup(db, errorMessage(error), now))
    throw error
  }
}

function createBackupFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new CliError(`BACKUP_DIR ${folder} cannot be created (${errorMessage(error)}). Set it to a writable folder.`)
  }
}

function requireSqlitePath({ databaseUrl }: Config): string {
  const path = sqlitePathOf(databaseUrl)
  if (path !== undefined) return path
  throw new CliError(
    'zonewatch backup copies SQLite. Back up PostgreSQL with pg_dump, and keep SECRET apart: docs/guides/back-up-and-restore.md.',
  )
}

/** Throws if the secret does not open the values in the database: the backup would be useless. */
function getSecretOf(config: Config, source: string): string {
  const secret = findSecret(config)
  if (secret === undefined) {
    throw new CliError(
      `${join(config.dataDir, 'secret')} cannot be read. Run this as the user of the server and with its settings, or leave the secret out: --without-secret.`,
    )
  }
  if (opensDatabase(secret, source)) return secret
  throw new CliError(
    'The secret is not the one of the database. Run this with the settings of the server (SECRET, DATA_DIR).',
  )
}

function opensDatabase(secret: string, source: string): boolean {
  try {
    const database = new DatabaseSync(source, { readOnly: true, timeout: 5_000 })
    try {
      const row = database.prepare('select value from secret_check').get() as { value: Uint8Array } | undefined
      return row === undefined || isSecretOf(secret, row.value)
    } finally {
      database.close()
    }
  } catch {
    return true // a file that cannot be read fails in `backUp`, with a better message
  }
}

/** A database of an older version or a full disk cannot hold the record. The backup itself counts all the same. */
async function tryToRecord({ databaseUrl }: Config, write: (db: Database) => Promise<void>): Promise<void> {
  const db = openDatabase(databaseUrl)
  await write(db).catch(() => {})
  await db.destroy().catch(() => {})
}

export function rowCountsText(rows: Record<string, number>): string {
  const count = (table: string) => rows[table] ?? 0
  return [
    plural(count('organizations'), '1 organization', (number) => `${number} organizations`),
    plural(count('monitors'), '1 monitor', (number) => `${number} monitors`),
    plural(count('events'), '1 event', (number) => `${number} events`),
    plural(count('webhook_requests'), '1 webhook request', (number) => `${number} webhook requests`),
  ].join(', ')
}
