import { chmodSync, copyFileSync, existsSync, renameSync, rmSync, statSync, truncateSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { CliError } from '../cli-error.ts'
import { findUnknownMigration } from '../database/migrate.ts'
import { openDatabase } from '../database/open.ts'
import { unregisterAll } from '../queue/heartbeat.ts'
import { countRows, findDamage, formatBytes, type Manifest, readManifest, verifyArchive } from './archive.ts'
import { freeBytesOf, isDiskFull, syncToDisk } from './back-up.ts'

export type RestoreOptions = {
  archive: string
  /** The SQLite file to create. */
  target: string
  now: number
  /** Called with the verified manifest before the file is created. Throws to refuse the backup. `check`: see `secrets/current-key.ts`. */
  accept(manifest: Manifest, check: Uint8Array | undefined): void
}

/** A server that wrote to the database within this time is running. */
const RECENT_MS = 10_000

/**
 * Creates the database of a backup. Overwrites nothing: it writes a file with a temporary name, and renames it in the last step. Throws a
 * `CliError` that says what is wrong with the backup or the folder.
 */
export async function restore({ archive, target, now, accept }: RestoreOptions): Promise<Manifest> {
  refuseDatabase(target, now)
  if (!existsSync(archive)) throw new CliError(`There is no file ${archive}. Use a file that zonewatch backup created.`)
  if (!statSync(archive).isFile()) {
    throw new CliError(`${archive} is not a file. Use one that zonewatch backup created.`)
  }
  const bytes = await verifyArchive(archive)
  const folder = dirname(target)
  const free = freeBytesOf(folder)
  if (free < bytes) {
    throw new CliError(
      `${folder} has ${formatBytes(free)} free, and the database takes ${formatBytes(bytes)}. Free some space.`,
    )
  }
  const partial = `${target}.restoring-${process.pid}`
  try {
    copyFileSync(archive, partial)
    chmodSync(partial, 0o600)
    truncateSync(partial, bytes)
    const manifest = verifyDatabase(archive, partial, accept)
    await forgetServer(partial, now)
    syncToDisk(partial)
    if (existsSync(target)) refuseDatabase(target, now)
    renameSync(partial, target)
    syncToDisk(folder)
    return manifest
  } catch (error) {
    throw isDiskFull(error) ? new CliError(`${folder} is full. Free some space.`) : error
  } finally {
    for (const ending of ['', '-journal', '-wal', '-shm']) rmSync(`${partial}${ending}`, { force: true })
  }
}

/** Throws if there is a database, and says whether a server uses it. */
export function refuseDatabase(path: string, now: number): void {
  const existing = [path, `${path}-wal`, `${path}-shm`].find((file) => existsSync(file))
  if (existing === undefined) return
  if (isInUse(path, now))
    throw new CliError(`${path} is in use by a running server. Stop that server, then move the file away.`)
  throw new CliError(
    `${existing} already exists, and restore overwrites nothing. Move it and the files beside it away, or set DATA_DIR to an empty folder.`,
  )
}

function isInUse(path: string, now: number): boolean {
  try {
    const database = new DatabaseSync(path, { readOnly: true })
    try {
      const row = database.prepare('select max(seen_at) as seen from processes').get() as { seen: number | null }
      return row.seen !== null && row.seen > now - RECENT_MS
    } finally {
      database.close()
    }
  } catch {
    return false
  }
}

/** Verifies the copy, and removes the manifest from it. */
function verifyDatabase(archive: string, partial: string, accept: RestoreOptions['accept']): Manifest {
  const database = new DatabaseSync(partial)
  try {
    const manifest = readManifest(database, archive)
    const applied = database.prepare('select name from migrations order by number').all() as { name: string }[]
    const names = applied.map(({ name }) => name)
    const unknown = findUnknownMigration(names)
    if (unknown !== undefined) {
      throw new CliError(
        `${archive} was made by Zonewatch ${manifest.version}, which is newer (its migration "${unknown}" is not known here). Restore it with that version or a newer one.`,
      )
    }
    const damage = findDamage(database)
    if (damage !== undefined) throw new CliError(`${archive} is damaged (${damage}). Restore another backup.`)
    const rows = countRows(database)
    const wrongTable = Object.keys(manifest.rows).find((table) => rows[table] !== manifest.rows[table])
    if (wrongTable !== undefined) {
      throw new CliError(
        `${archive} is damaged: ${wrongTable} has ${rows[wrongTable]} rows and had ${manifest.rows[wrongTable]}. Restore another backup.`,
      )
    }
    const check = database.prepare('select value from secret_check').get() as { value: Uint8Array } | undefined
    accept(manifest, check?.value)
    database.exec('drop table zonewatch_backup')
    return manifest
  } finally {
    database.close()
  }
}

/** Releases the claims of the server that was backed up, because its processes do not use this copy. */
async function forgetServer(path: string, now: number): Promise<void> {
  const db = openDatabase(`sqlite:${path}`)
  try {
    await unregisterAll(db, now)
  } finally {
    await db.destroy()
  }
}
