import { createHash } from 'node:crypto'
import { closeSync, fstatSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { CliError } from '../cli-error.ts'
import { yieldToEventLoop } from '../yield.ts'

/**
 * A backup is one SQLite file: the database with a table `zonewatch_backup` for the manifest, and after the last page a line with the
 * length and the SHA-256 of everything before it. A file without that line is not a complete backup.
 */
export type Manifest = {
  /** The version of Zonewatch that created the backup. */
  version: string
  /** UTC epoch milliseconds. */
  madeAt: number
  /** The content of the file `secret`; null: the backup was made with `--without-secret`. */
  secret: string | null
  /** The rows of each table. */
  rows: Record<string, number>
}

const FORMAT = 1
const CHUNK_BYTES = 1_024 * 1_024
const LINE = /^\nzonewatch-backup (\d+) octets=(\d{16}) sha256=([0-9a-f]{64})\n$/
const lastLine = (bytes: number, sha256: string) =>
  `\nzonewatch-backup ${FORMAT} octets=${String(bytes).padStart(16, '0')} sha256=${sha256}\n`
const LINE_BYTES = lastLine(0, '0'.repeat(64)).length

/** Writes the manifest into a copy that is not yet finished. */
export function writeManifest(database: DatabaseSync, manifest: Manifest): void {
  database.exec('create table zonewatch_backup (manifest text not null) strict')
  database.prepare('insert into zonewatch_backup (manifest) values (?)').run(JSON.stringify(manifest))
}

/** Appends the last line, and flushes the file to the disk. */
export async function finishArchive(path: string): Promise<void> {
  const file = openSync(path, 'r+')
  try {
    const bytes = fstatSync(file).size
    writeSync(file, lastLine(bytes, await sha256Of(file, bytes)), bytes)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** Reads the whole file. Returns the size of the database in it. Throws a `CliError` for an incomplete backup. */
export async function verifyArchive(path: string): Promise<number> {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const line = Buffer.alloc(LINE_BYTES)
    readSync(file, line, 0, LINE_BYTES, Math.max(0, size - LINE_BYTES))
    const [, format, writtenBytes, sha256] = LINE.exec(line.toString('latin1')) ?? []
    if (format === undefined) throw new CliError(await describeInvalidFile(file, path, size))
    if (Number(format) !== FORMAT) {
      throw new CliError(
        `${path} has the backup format ${format}; this Zonewatch reads ${FORMAT}. Use a newer Zonewatch.`,
      )
    }
    const bytes = Number(writtenBytes)
    const isWhole = bytes === size - LINE_BYTES && (await sha256Of(file, bytes)) === sha256
    if (!isWhole) throw new CliError(`${path} is damaged: its checksum is wrong. Restore another backup.`)
    return bytes
  } finally {
    closeSync(file)
  }
}

async function describeInvalidFile(file: number, path: string, size: number): Promise<string> {
  const start = Buffer.alloc(16)
  readSync(file, start, 0, 16, 0)
  if (size > 0 && start.toString('latin1') === 'SQLite format 3\0') {
    return `${path} is incomplete: its last line is missing. It was cut off, or was not made by zonewatch backup. Restore another backup.`
  }
  return `${path} is not a Zonewatch backup. Use a file that zonewatch backup created.`
}

/** Throws a `CliError` for a database without a manifest. */
export function readManifest(database: DatabaseSync, path: string): Manifest {
  try {
    const row = database.prepare('select manifest from zonewatch_backup').get() as { manifest: string }
    return JSON.parse(row.manifest)
  } catch {
    throw new CliError(`${path} has no readable manifest. Restore another backup.`)
  }
}

/** The rows of every table. */
export function countRows(database: DatabaseSync): Record<string, number> {
  const tables = database
    .prepare(
      "select name from sqlite_schema where type = 'table' and name not like 'sqlite!_%' escape '!' order by name",
    )
    .all() as { name: string }[]
  return Object.fromEntries(
    tables
      .filter(({ name }) => name !== 'zonewatch_backup')
      .map(({ name }) => {
        const { count } = database.prepare(`select count(*) as count from "${name}"`).get() as { count: number }
        return [name, count]
      }),
  )
}

/** The damage that SQLite finds; undefined if there is none. Reads the whole file. */
export function findDamage(database: DatabaseSync): string | undefined {
  const { integrity_check: result } = database.prepare('pragma integrity_check(1)').get() as { integrity_check: string }
  return result === 'ok' ? undefined : result
}

async function sha256Of(file: number, bytes: number): Promise<string> {
  const hash = createHash('sha256')
  const chunk = Buffer.alloc(CHUNK_BYTES)
  for (let offset = 0; offset < bytes; ) {
    const length = readSync(file, chunk, 0, Math.min(CHUNK_BYTES, bytes - offset), offset)
    if (length === 0) break
    hash.update(chunk.subarray(0, length))
    offset += length
    await yieldToEventLoop()
  }
  return hash.digest('hex')
}

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']

/** As text: `12.3 MiB`. */
export function formatBytes(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10))
  const value = bytes / 1_024 ** power
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[power]}`
}
