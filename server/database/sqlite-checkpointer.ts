import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'

/**
 * Moves what commits wrote into the log on into the file, while the writer goes on: where its own commits do that, each
 * thousand pages cost it tens of milliseconds of waiting for the disk. Imports nothing that it can do without, so that it
 * starts at once.
 */
const LOOK_MS = 100
/** Pages that wait: as many as SQLite lets wait by itself. */
const WORTH_IT = 1_000
/** Long reads or a slow disk kept the writer from it: now writers wait for that, but not for long and not often. */
const MOST_PAGES = 32_000
const LOCKED_MS = 200
const LOOKS_BETWEEN = 20

const port = parentPort!
/** `writersPages`: from here on the writer does it, since the log begins anew only when nobody writes meanwhile. */
const { path, writersPages } = workerData as { path: string; writersPages: number }
const database = new DatabaseSync(path, { timeout: LOCKED_MS })
const look = database.prepare('pragma wal_checkpoint(noop)')
const move = database.prepare('pragma wal_checkpoint(passive)')
const beginAnew = database.prepare('pragma wal_checkpoint(restart)')
let looksToWait = 0

const timer = setInterval(() => {
  try {
    const { log, checkpointed } = look.get() as { log: number; checkpointed: number }
    if (log >= MOST_PAGES && looksToWait-- <= 0) {
      looksToWait = LOOKS_BETWEEN
      beginAnew.get()
    } else if (log < writersPages && log - checkpointed >= WORTH_IT) move.get()
  } catch {
    // A full disk, say, which the writer meets too. The next look tries again.
  }
}, LOOK_MS)

port.once('message', () => {
  clearInterval(timer)
  database.close()
  port.close()
})
