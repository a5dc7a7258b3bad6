import { existsSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { shownOctets } from '../backup/archive.ts'
import { freeOctetsOf } from '../backup/back-up.ts'
import type { Config } from '../config/config.ts'
import { pathOf } from '../database/url.ts'
import { type Finding, failure, ok, warning } from './finding.ts'

const MIB = 1_024 * 1_024

/** The settings that are valid and yet dangerous. `count`: all of them. */
export function findSettings(config: Pick<Config, 'baseUrl' | 'smtp' | 'signUp'>, count: number): Finding[] {
  const { protocol, hostname } = new URL(config.baseUrl)
  const found = [ok('settings', `${count} settings are valid`)]
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

/** What others can read of the server's files, and the room that is left. */
export function findPlaces({
  dataDir,
  databaseUrl,
  backupDir,
  secretFiles,
}: Pick<Config, 'dataDir' | 'databaseUrl' | 'backupDir' | 'secretFiles'>): Finding[] {
  const file = pathOf(databaseUrl)
  if (!existsSync(dataDir)) {
    return [
      failure(
        'DATA_DIR',
        `${dataDir} does not exist`,
        'Set DATA_DIR to the folder of the server, or start the server once.',
      ),
    ]
  }
  const beside = file === undefined ? [] : ['', '-wal', '-shm'].map((ending) => `${file}${ending}`)
  const backups = backupDir === null ? [] : filesIn(backupDir).filter((path) => path.endsWith('.backup'))
  const own = [join(dataDir, 'secret'), ...beside]
  const open = [...own, ...backups].filter((path) => ((modeOf(path) ?? 0) & 0o077) !== 0)
  // Containers mount secrets with the group of the process.
  const given = secretFiles.filter((path) => ((modeOf(path) ?? 0) & 0o007) !== 0)
  const found: Finding[] = [...onOwners(ownerOf(dataDir), own)]
  if (given.length > 0) {
    found.push(warning('secret files', `every user can read ${given.join(', ')}`, `chmod 600 ${given.join(' ')}`))
  }
  if (open.length === 0)
    found.push(ok('file permissions', 'only the owner reads the database, the secret and the backups'))
  else found.push(failure('file permissions', `others can read ${open.join(', ')}`, `chmod 600 ${open.join(' ')}`))
  if (file === undefined) return found
  const size = beside.reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0)
  found.push(onFreeDisk('free disk', dirname(file), { free: freeOctetsOf(dirname(file)), size }))
  if (backupDir !== null && existsSync(backupDir)) {
    found.push(onFreeDisk('free disk for backups', backupDir, { free: freeOctetsOf(backupDir), size }))
  }
  return found
}

/** A backup, a migration and the log of SQLite may each take as much as the database. */
export function onFreeDisk(check: string, folder: string, { free, size }: { free: number; size: number }): Finding {
  const what = `${shownOctets(free)} in ${folder}; the database takes ${shownOctets(size)}`
  const remedy = 'Free some space or enlarge the disk; delete old events with event_retention_days.'
  if (free < 200 * MIB || free < size / 10) return failure(check, what, remedy)
  if (free < 1_024 * MIB || free < size) return warning(check, what, remedy)
  return ok(check, what)
}

/** A command that ran as root leaves files that the user of the server cannot open. `owner`: of DATA_DIR. */
export function onOwners(owner: number | undefined, paths: readonly string[], of = ownerOf): Finding[] {
  const foreign = paths.filter((path) => (of(path) ?? owner) !== owner)
  if (foreign.length === 0) return []
  const what = `DATA_DIR belongs to user ${owner}, and ${foreign.join(', ')} to ${of(foreign[0]!)}`
  return [failure('file owner', what, `chown ${owner} ${foreign.join(' ')}`)]
}

const modeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.mode
const ownerOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.uid

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder).map((name) => join(folder, name))
  } catch {
    return []
  }
}
