import { closeSync, openSync, readdirSync, readSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../clock.ts'
import { pidOfPartial } from './back-up.ts'

/** `zonewatch-20261122T200500Z.backup`: sorts by time, and people can read it. */
export function backupNameOf(now: number): string {
  const stamp = new Date(now).toISOString().replace(/[-:]|\.\d+/g, '')
  return `zonewatch-${stamp}.backup`
}

const BACKUP_NAME = /^zonewatch-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.backup$/

/** When the newest backup of the folder was created; undefined if there is none, or no folder. */
export function newestBackup(folder: string, now: number): number | undefined {
  const times = backupsIn(folder).map((name) => Date.parse(name.replace(BACKUP_NAME, '$1-$2-$3T$4:$5:$6Z')))
  // A time in the future is from a wrong clock.
  return times.findLast((time) => time <= now)
}

/** Deletes all backups except the newest `keep`, and returns their names. Files with other names stay. */
export function deleteOldBackups(folder: string, keep: number): string[] {
  const oldBackups = backupsIn(folder).slice(0, -keep)
  for (const name of oldBackups) rmSync(join(folder, name))
  return oldBackups
}

/** Deletes the unfinished files of processes that were killed during a backup. */
export function deleteUnfinished(folder: string, isAlive: (pid: number) => boolean, now: number): void {
  for (const name of namesIn(folder)) {
    const pid = pidOfPartial(name.replace(SIDE_FILE, ''))
    if (pid === undefined) continue
    const path = join(folder, name)
    if (!isBackupFile(path)) continue
    // In a container another process may have the same id now.
    const isOld = () => (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? now) < now - ABANDONED_MS
    if (!isAlive(pid) || isOld()) rmSync(path, { force: true })
  }
}

/** Of SQLite, whose first page is written last: another program may use such names in a folder that an operator chose. */
function isBackupFile(path: string): boolean {
  const begin = Buffer.alloc(SQLITE_HEADER.length)
  try {
    const descriptor = openSync(path, 'r')
    const length = readSync(descriptor, begin, 0, begin.length, 0)
    closeSync(descriptor)
    return SIDE_FILE.test(path) || ['', SQLITE_HEADER].includes(begin.toString('latin1', 0, length).replace(/^\0+/, ''))
  } catch {
    return false
  }
}

const SQLITE_HEADER = 'SQLite format 3\0'
const SIDE_FILE = /-(?:journal|wal|shm)$/

const ABANDONED_MS = 24 * 60 * 60_000

const backupsIn = (folder: string) =>
  namesIn(folder)
    .filter((name) => BACKUP_NAME.test(name))
    .sort()

/** The names of the files in a folder; empty if there is no folder. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

export type ScheduleDeps = {
  folder: string
  everyMs: number
  clock: Clock
  /** Creates a backup in a separate process. Resolves to whether it succeeded. */
  run(): Promise<boolean>
}

/** A failed backup is retried after this time, or after the usual interval if that is shorter. */
export const RETRY_MS = 10 * 60_000
/** A changed clock or a deleted backup is noticed after this time. */
const PAUSE_MS = 60_000

/** Creates a backup whenever the newest one is `everyMs` old, until `stop`. */
export async function runSchedule({ folder, everyMs, clock, run }: ScheduleDeps, stop: AbortSignal): Promise<void> {
  let notBefore = 0
  while (!stop.aborted) {
    const dueAt = Math.max((newestBackup(folder, clock.now()) ?? Number.NEGATIVE_INFINITY) + everyMs, notBefore)
    const waitMs = dueAt - clock.now()
    if (waitMs > 0) {
      await clock.sleep(Math.min(waitMs, PAUSE_MS), stop)
      continue
    }
    const isCreated = await run()
    notBefore = clock.now() + (isCreated ? PAUSE_MS : Math.min(everyMs, RETRY_MS))
  }
}
