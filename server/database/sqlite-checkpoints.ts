import { DatabaseSync } from 'node:sqlite'
import { systemClock } from '../clock.ts'

const EVERY_MS = 100
/** SQLite's own default. */
const MIN_PAGES = 1_000
/** From this size on, writers wait for a few milliseconds, so that the log can start again at its beginning. */
const RESTART_PAGES = 16_000
const LOCK_TIMEOUT_MS = 200
/** The pause if long reads prevented a restart, so that writers do not wait too often. Doubles up to the maximum. */
const RESTART_PAUSE_MS = 2_000
const MAX_RESTART_PAUSE_MS = 64_000

/**
 * Runs SQLite's checkpoints, which copy pages of the write-ahead log into the database file. In the commit of another process a checkpoint
 * would block its event loop for tens of milliseconds every thousand pages. `path` must exist. Returns a function that ends it.
 */
export function startCheckpoints(path: string): () => void {
  const database = new DatabaseSync(path, { timeout: LOCK_TIMEOUT_MS })
  const state = database.prepare('pragma wal_checkpoint(noop)')
  const passive = database.prepare('pragma wal_checkpoint(passive)')
  const restart = database.prepare('pragma wal_checkpoint(restart)')
  let restartAt = Number.NEGATIVE_INFINITY
  let pauseMs = RESTART_PAUSE_MS
  const timer = setInterval(() => {
    try {
      const { log, checkpointed } = state.get() as { log: number; checkpointed: number }
      if (log - checkpointed >= MIN_PAGES) passive.get()
      if (log < RESTART_PAGES || systemClock.elapsed() < restartAt) return
      restartAt = systemClock.elapsed() + pauseMs
      // A backup may read for minutes.
      pauseMs = Math.min(pauseMs * 2, MAX_RESTART_PAUSE_MS)
      const { busy } = restart.get() as { busy: number }
      if (busy === 0) pauseMs = RESTART_PAUSE_MS
    } catch {
      // For example a full disk, which the writers report. The next run retries.
    }
  }, EVERY_MS)
  return () => {
    clearInterval(timer)
    database.close()
  }
}
