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

const port = parentPort!
const database = new DatabaseSync(workerData.path)
const look = database.prepare('pragma wal_checkpoint(noop)')
const move = database.prepare('pragma wal_checkpoint(passive)')

const timer = setInterval(() => {
  try {
    const { log, checkpointed } = look.get() as { log: number; checkpointed: number }
    if (log - checkpointed >= WORTH_IT) move.get()
  } catch {
    // A full disk, say: the writer meets it too, and tells.
  }
}, LOOK_MS)

port.once('message', () => {
  clearInterval(timer)
  database.close()
  port.close()
})
