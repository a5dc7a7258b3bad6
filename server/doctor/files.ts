import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { formatBytes } from '../backup/archive.ts'
import { fileSize, freeBytesOf } from '../backup/back-up.ts'
import { namesIn } from '../backup/schedule.ts'
import type { Config } from '../config/config.ts'
import { sqlitePathOf } from '../database/url.ts'
import { type Finding, failure, ok, warning } from './finding.ts'

const MIB = 1_024 * 1_024

/** Finds valid but dangerous settings. `count`: of all settings. */
export function checkSettings(
  config: Pick<Config, 'baseUrl' | 'smtp' | 'signUp' | 'unknownSettings'>,
  count: number,
): Finding[] {
  const { protocol, hostname } = new URL(config.baseUrl)
  const found = [ok('settings', `${count} settings are valid`)]
  for (const { name, nearest } of config.unknownSettings) {
    found.push(warning(name, 'not a setting of Zonewatch, so it has no effect', `Did you mean ${nearest}?`))
  }
  if (protocol === 'http:' && !/^(localhost|127\..*|\[::1\])$/.test(hostname)) {
    const remedy = 'Put a proxy with TLS in front, and set BASE_URL to its https address.'
    found.push(warning('BASE_URL', `${config.baseUrl}: passwords and API keys are sent without encryption`, remedy))
  }
  if (config.smtp === null && config.signUp === 'open') {
    found.push(
      failure(
        'SIGN_UP',
        'open without SMTP_URL: addresses are not confirmed',
        'Set SMTP_URL and MAIL_FROM, or SIGN_UP=off.',
      ),
    )
  }
  return found
}

/** A failure if another user runs this, who sees nothing in DATA_DIR; undefined otherwise. */
export function deniedFolder({ dataDir }: Pick<Config, 'dataDir'>): Finding | undefined {
  try {
    accessSync(dataDir, constants.R_OK | constants.X_OK)
    return undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') return undefined
    const what = `user ${process.getuid?.()} cannot read ${dataDir}`
    return failure('DATA_DIR', what, 'Run this as the user of the server, and with its settings.')
  }
}

/** Checks who can read the server's files, and the free disk space. */
export function checkFiles({
  dataDir,
  databaseUrl,
  backupDir,
  secretFiles,
}: Pick<Config, 'dataDir' | 'databaseUrl' | 'backupDir' | 'secretFiles'>): Finding[] {
  const file = sqlitePathOf(databaseUrl)
  if (!existsSync(dataDir)) {
    return [
      failure(
        'DATA_DIR',
        `${dataDir} does not exist`,
        'Set DATA_DIR to the folder of the server, or start the server once.',
      ),
    ]
  }
  const unwritable = unwritableFinding(dataDir)
  const sqliteFiles = file === undefined ? [] : ['', '-wal', '-shm'].map((suffix) => `${file}${suffix}`)
  const backups = backupDir === null ? [] : backupsIn(backupDir)
  const dataFiles = [join(dataDir, 'secret'), ...sqliteFiles]
  const readable = [...dataFiles, ...backups].filter((path) => ((modeOf(path) ?? 0) & 0o077) !== 0)
  // The group may read these: containers mount secrets with the group of the process.
  const readableSecrets = secretFiles.filter((path) => ((modeOf(path) ?? 0) & 0o007) !== 0)
  const found: Finding[] = [...unwritable, ...ownerFindings(ownerOf(dataDir), dataFiles)]
  if (readableSecrets.length > 0) {
    const what = `every user can read ${readableSecrets.join(', ')}`
    found.push(warning('secret files', what, `chmod 600 ${readableSecrets.join(' ')}`))
  }
  found.push(
    readable.length === 0
      ? ok('file permissions', 'only the owner reads the database, the secret and the backups')
      : failure('file permissions', `others can read ${readable.join(', ')}`, `chmod 600 ${readable.join(' ')}`),
  )
  if (file === undefined) return found
  const size = sqliteFiles.reduce((sum, path) => sum + fileSize(path), 0)
  found.push(freeDiskFinding('free disk', dirname(file), { free: freeBytesOf(dirname(file)), size }))
  if (backupDir !== null && existsSync(backupDir)) {
    found.push(freeDiskFinding('free disk for backups', backupDir, { free: freeBytesOf(backupDir), size }))
  }
  return found
}

/** On a disk that became read-only, the server neither starts nor records a check. */
export function unwritableFinding(folder: string, access: typeof accessSync = accessSync): Finding[] {
  try {
    access(folder, constants.W_OK | constants.X_OK)
    return []
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const remedy =
      code === 'EACCES'
        ? 'Run this as the user of the server, and with its settings.'
        : 'Find out why in the log of the system, and mount the disk so that it can be written.'
    return [failure('DATA_DIR', `${folder} cannot be written (${code})`, remedy)]
  }
}

/** A backup, a migration and SQLite's write-ahead log can each take as much space as the database. */
export function freeDiskFinding(
  check: string,
  folder: string,
  { free, size }: { free: number; size: number },
): Finding {
  const what = `${formatBytes(free)} in ${folder}; the database takes ${formatBytes(size)}`
  const remedy = 'Free some space or enlarge the disk; delete old events with event_retention_days.'
  if (free < 200 * MIB || free < size / 10) return failure(check, what, remedy)
  if (free < 1_024 * MIB || free < size) return warning(check, what, remedy)
  return ok(check, what)
}

/** A command that ran as root can leave files that the server's user cannot open. `owner`: of DATA_DIR. */
export function ownerFindings(owner: number | undefined, paths: readonly string[], of = ownerOf): Finding[] {
  const misowned = paths.filter((path) => (of(path) ?? owner) !== owner)
  if (misowned.length === 0) return []
  const what = `DATA_DIR belongs to user ${owner}, and ${misowned.join(', ')} to ${of(misowned[0]!)}`
  return [failure('file owner', what, `chown ${owner} ${misowned.join(' ')}`)]
}

const modeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.mode
const ownerOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.uid
const backupsIn = (folder: string) =>
  namesIn(folder)
    .filter((name) => name.endsWith('.backup'))
    .map((name) => join(folder, name))
