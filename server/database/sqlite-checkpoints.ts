import { DatabaseSync } from 'node:sqlite'
import { systemClock } from '../clock.ts'

const EVERY_MS = 100
/** SQLite's own default. */
const WORTHWHILE_PAGES = 1_000
/** The log restarts only when nobody writes meanwhile. From here on writers wait for that: some milliseconds. */
const RESTART_PAGES = 16_000
const LOCK_TIMEOUT_MS = 200
/** After a restart that long reads prevented, so that writers do not wait again and again. Doubles up to the second. */
const RESTART_AGAIN_MS = 2_000
const RESTART_AGAIN_MOST_MS = 64_000

/**
 * Moves the pages of SQLite's write-ahead log into the database file while other processes write. In the commit of a process
 * a checkpoint would block its event loop for the disk, for tens of milliseconds every thousand pages. `path` exists.
 * Returns the function that ends it.
 */
export function startCheckpoints(path: string): () => void {
  const database = new DatabaseSync(path, { timeout: LOCK_TIMEOUT_MS })
  const state = database.prepare('pragma wal_checkpoint(noop)')
  const passive = database.prepare('pragma wal_checkpoint(passive)')
  const restart = database.prepare('pragma wal_checkpoint(restart)')
  let restartAt = Number.NEGATIVE_INFINITY
  let againMs = RESTART_AGAIN_MS
  const timer = setInterval(() => {
    try {
      const { log, checkpointed } = state.get() as { log: number; checkpointed: number }
      if (log - checkpointed >= WORTHWHILE_PAGES) passive.get()
      if (log < RESTART_PAGES || systemClock.elapsed() < restartAt) return
      restartAt = systemClock.elapsed() + againMs
      // A backup may read for minutes.
      againMs = Math.min(againMs * 2, RESTART_AGAIN_MOST_MS)
      const { busy } = restart.get() as { busy: number }
      if (busy === 0) againMs = RESTART_AGAIN_MS
    } catch {
      // A full disk, say, which the writers report. The next round tries again.
    }
  }, EVERY_MS)
  return () => {
    clearInterval(timer)
    database.close()
  }
}
