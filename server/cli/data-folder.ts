import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { CliError, errorMessage } from '../cli-error.ts'
import type { Config } from '../config/config.ts'
import { sqlitePathOf } from '../database/url.ts'

/** Creates the data folder if it does not exist, and lets only the owner read the database and the secret in it. */
export function prepareDataFolder({ dataDir, databaseUrl }: Config): void {
  createDataFolder(dataDir)
  const file = sqlitePathOf(databaseUrl)
  if (file === undefined) return
  refuseLostDatabase(file, dataDir)
  makePrivate(file, dataDir)
}

/**
 * A supervisor such as systemd would replace a lost database by an empty one. Throws a `CliError`. The secret is created after the database
 * file, also by processes that start at the same time, so it must be looked for first.
 */
function refuseLostDatabase(file: string, dataDir: string): void {
  const traces = [join(dataDir, 'secret'), `${file}-wal`]
  const trace = traces.find((path) => existsSync(path))
  if (trace === undefined || existsSync(file)) return
  throw new CliError(
    `The database ${file} is missing, but ${trace} shows that it existed. Put the file back, or restore a backup: zonewatch restore FILE. To begin with an empty database, move ${trace} to another folder (keep the secret for old backups).`,
  )
}

export function createDataFolder(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    const probe = join(dataDir, `.writable-${process.pid}`)
    writeFileSync(probe, '', { flag: 'w' })
    rmSync(probe)
  } catch (error) {
    throw new CliError(
      `The data folder ${dataDir} cannot be written (${errorMessage(error)}). Set DATA_DIR to a writable folder.`,
    )
  }
}

/** Gives a file that root created to the owner of its folder: otherwise the server's user could not open it. */
export function giveToOwnerOf(folder: string, path: string): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(folder)
  chownSync(path, uid, gid)
}

const SQLITE_HEADER = 'SQLite format 3\0'
/** The files of Zonewatch in DATA_DIR. */
const OUR_FILES = /^(?:secret|zonewatch\.db.*|\.writable-\d+)$/

/**
 * For the SQLite file, its -wal and -shm files, the secret and the folder, new or existing. Creates the SQLite file, because SQLite
 * gives the other two the same mode. A mode that cannot be changed stays; `zonewatch doctor` reports it.
 */
function makePrivate(file: string, dataDir: string): void {
  if (openSqliteFile(file)) for (const suffix of ['', '-wal', '-shm']) setMode(`${file}${suffix}`, 0o600)
  setMode(join(dataDir, 'secret'), 0o600)
  // Other users may need the other files of a shared folder.
  const isOurs = dirname(file) === dataDir && readdirSync(dataDir).every((name) => OUR_FILES.test(name))
  if (isOurs) setMode(dataDir, 0o700)
}

/** Creates the file if it does not exist. Returns whether it is empty or an SQLite database. Throws a `CliError` if there is no file. */
function openSqliteFile(file: string): boolean {
  try {
    const descriptor = openSync(file, 'a+', 0o600)
    try {
      const header = Buffer.alloc(SQLITE_HEADER.length)
      const length = readSync(descriptor, header, 0, SQLITE_HEADER.length, 0)
      return length === 0 || header.toString('latin1') === SQLITE_HEADER
    } finally {
      closeSync(descriptor)
    }
  } catch (error) {
    if (existsSync(file)) return false
    throw new CliError(`${file} cannot be created (${errorMessage(error)}). Check DATABASE_URL and DATA_DIR.`)
  }
}

function setMode(path: string, mode: number): void {
  try {
    if ((statSync(path).mode & 0o777) !== mode) chmodSync(path, mode)
  } catch {
    // The file does not exist, or belongs to another user.
  }
}
