import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../clock.ts'
import { pidOfPartial } from './back-up.ts'

/** `zonewatch-20261122T200500Z.backup`: in order of time, and readable by people. */
export function backupNameOf(now: number): string {
  const stamp = new Date(now).toISOString().replace(/[-:]|\.\d+/g, '')
  return `zonewatch-${stamp}.backup`
}

const NAME = /^zonewatch-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.backup$/

/** When the newest backup of the folder was made; undefined where there is none, or no folder. */
export function newestBackup(folder: string, now: number): number | undefined {
  const times = backupsIn(folder).map((name) => Date.parse(name.replace(NAME, '$1-$2-$3T$4:$5:$6Z')))
  // One from the future was made under a wrong clock.
  return times.findLast((time) => time <= now)
}

/** Deletes all but the newest `keep`, and returns the names of those deleted. Never touches files with other names. */
export function deleteOldBackups(folder: string, keep: number): string[] {
  const old = backupsIn(folder).slice(0, -keep)
  for (const name of old) rmSync(join(folder, name))
  return old
}

/** What processes that were killed in the middle of a backup left. */
export function deleteUnfinished(folder: string, isAlive: (pid: number) => boolean, now: number): void {
  for (const name of namesIn(folder)) {
    const pid = pidOfPartial(name.replace(/-(?:journal|wal|shm)$/, ''))
    if (pid === undefined) continue
    const path = join(folder, name)
    // In a container the number may be that of another process by now.
    const isOld = () => (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? now) < now - ABANDONED_MS
    if (!isAlive(pid) || isOld()) rmSync(path, { force: true })
  }
}

const ABANDONED_MS = 24 * 60 * 60_000

const backupsIn = (folder: string) =>
  namesIn(folder)
    .filter((name) => NAME.test(name))
    .sort()

function namesIn(folder: string): string[] {
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
  /** Makes one backup in a process of its own. Resolves to whether it was made. */
  run(): Promise<boolean>
}

/** A failed backup is retried after this time, or after the usual interval if that is shorter. */
export const RETRY_MS = 10 * 60_000
/** A changed clock or a deleted backup is noticed after this time. */
const PAUSE_MS = 60_000

/** Makes a backup whenever the newest one is `everyMs` old, until `stop`. */
export async function runSchedule({ folder, everyMs, clock, run }: ScheduleDeps, stop: AbortSignal): Promise<void> {
  let notBefore = 0
  while (!stop.aborted) {
    const dueAt = Math.max((newestBackup(folder, clock.now()) ?? Number.NEGATIVE_INFINITY) + everyMs, notBefore)
    const waitMs = dueAt - clock.now()
    if (waitMs > 0) {
      await clock.sleep(Math.min(waitMs, PAUSE_MS), stop)
      continue
    }
    const isMade = await run()
    notBefore = clock.now() + (isMade ? PAUSE_MS : Math.min(everyMs, RETRY_MS))
  }
}
