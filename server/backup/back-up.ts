import { closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync, rmSync, statfsSync, statSync } from 'node:fs'
import { constants } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { CliError } from '../cli-error.ts'
import { isDamaged } from '../database/unavailable.ts'
import {
  countRows,
  findDamage,
  finishArchive,
  formatBytes,
  readManifest,
  verifyArchive,
  writeManifest,
} from './archive.ts'

export type BackupOptions = {
  /** The SQLite file. A server may be using it. */
  source: string
  /** The file to create. It must not exist. */
  target: string
  /** The content of the file `secret`; null: left out. */
  secret: string | null
  version: string
  now: number
  /** Free bytes of the file system with this folder. */
  freeBytes?: (folder: string) => number
}

export type BackupResult = { bytes: number; rows: Record<string, number> }

/** 1 MiB with SQLite's default page size. */
const PAGES_PER_STEP = 256
/** After each step, so that the server can use the disk most of the time. */
const PAUSE_MS = 5
/** Upper bound of the manifest and the last line. */
const EXTRA_BYTES = 1_024 * 1_024

/**
 * Copies a consistent snapshot of a database that is in use, and verifies the copy. The file gets its name when it is complete and on the
 * disk. Blocks the event loop, so run it in a separate process. Throws a `CliError` for errors that an operator can fix.
 */
export async function backUp(options: BackupOptions): Promise<BackupResult> {
  const { target, source, freeBytes = freeBytesOf } = options
  const folder = dirname(target)
  if (!existsSync(source)) throw new CliError(`There is no database at ${source}. Check DATA_DIR and DATABASE_URL.`)
  if (existsSync(target)) throw new CliError(`${target} already exists. Use another file name, or remove that file.`)
  const partial = partialPath(target)
  const removePartial = () => {
    for (const ending of ['', '-journal', '-wal', '-shm']) rmSync(`${partial}${ending}`, { force: true })
  }
  const forgetSignals = onSignal(removePartial)
  try {
    closeSync(openSync(partial, 'wx', 0o600))
  } catch (error) {
    forgetSignals()
    throw new CliError(`${folder} cannot be written (${(error as Error).message}). Use a writable folder.`)
  }
  try {
    const needed = fileSize(source) + fileSize(`${source}-wal`) + EXTRA_BYTES
    const free = freeBytes(folder)
    if (free < needed) {
      throw new CliError(
        `${folder} has ${formatBytes(free)} free, and the backup takes up to ${formatBytes(needed)}. Free some space, or use another folder.`,
      )
    }
    const rows = await copy(options, partial)
    await finishArchive(partial)
    await verifyArchive(partial)
    const bytes = statSync(partial).size
    moveIntoPlace(partial, target)
    return { bytes, rows }
  } catch (error) {
    if (isDiskFull(error)) throw new CliError(`${folder} is full. Free some space, or use another folder.`)
    if (isDamaged(error)) throw damagedError(source, (error as Error).message)
    throw error
  } finally {
    removePartial()
    forgetSignals()
  }
}

/** Ends the process with the status of the signal after `work`. Returns a function that removes the handlers. */
function onSignal(work: () => void): () => void {
  const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const
  const stop = (signal: NodeJS.Signals) => {
    work()
    process.exit(128 + constants.signals[signal])
  }
  for (const signal of signals) process.once(signal, stop)
  return () => {
    for (const signal of signals) process.off(signal, stop)
  }
}

/** The path of a backup until it is complete, with the id of the process that creates it. */
const partialPath = (target: string) => join(dirname(target), `.${basename(target)}.partial-${process.pid}`)
/** The process that creates or created such a file. */
export const pidOfPartial = (name: string): number | undefined => {
  const [, pid] = /^\..+\.partial-(\d+)$/.exec(name) ?? []
  return pid === undefined ? undefined : Number(pid)
}

async function copy({ source, secret, version, now }: BackupOptions, partial: string): Promise<Record<string, number>> {
  const from = new DatabaseSync(source, { readOnly: true, timeout: 5_000 })
  let rows: Record<string, number>
  try {
    // One snapshot for all steps: otherwise SQLite starts over whenever another process writes, as a server does all the time.
    from.exec('begin')
    rows = countRows(from)
    await backup(from, partial, { rate: PAGES_PER_STEP, progress: pause })
  } finally {
    from.close()
  }
  const copy = new DatabaseSync(partial)
  try {
    copy.exec('pragma journal_mode = delete')
    writeManifest(copy, { version, madeAt: now, secret, rows })
    const damage = findDamage(copy)
    if (damage !== undefined) {
      throw damagedError(source, damage)
    }
    const copied = countRows(copy)
    const wrong = Object.keys(rows).find((table) => copied[table] !== rows[table])
    if (wrong !== undefined || readManifest(copy, partial).madeAt !== now) {
      throw new Error(`The copy of ${source} differs in the table ${wrong}.`)
    }
  } finally {
    copy.close()
  }
  return rows
}

const sleeping = new Int32Array(new SharedArrayBuffer(4))
const pause = () => void Atomics.wait(sleeping, 0, 0, PAUSE_MS)

/** Atomically, and never over an existing file. */
function moveIntoPlace(partial: string, target: string): void {
  try {
    linkSync(partial, target)
    rmSync(partial)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') throw new CliError(`${target} already exists. Use another file name, or remove that file.`)
    // Some network file systems have no hard links.
    renameSync(partial, target)
  }
  syncToDisk(dirname(target))
}

/** So that the content of a file, or the names of the files in a folder, survive a power failure. */
export function syncToDisk(path: string): void {
  const opened = openSync(path, 'r')
  try {
    fsyncSync(opened)
  } finally {
    closeSync(opened)
  }
}

/** Whether the disk became full during the work. */
export function isDiskFull(error: unknown): boolean {
  const { code, errcode } = error as { code?: unknown; errcode?: unknown }
  return code === 'ENOSPC' || code === 'EDQUOT' || errcode === SQLITE_FULL
}

const damagedError = (source: string, damage: string) =>
  new CliError(
    `${source} is damaged (${damage}), and so is every copy of it. Keep the older backups, and restore the last good one.`,
  )

const SQLITE_FULL = 13

export function freeBytesOf(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

/** In bytes; 0 if there is no file. */
export const fileSize = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0
