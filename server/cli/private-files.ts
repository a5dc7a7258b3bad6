import { chmodSync, chownSync, closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'

const HEADER = 'SQLite format 3\0'

/**
 * Lets nobody but the owner read the SQLite file, what SQLite keeps beside it and the secret, also where they were there before.
 * The file is made here, because SQLite gives those beside it the same mode. What cannot be changed is left to the operator.
 */
export function makePrivate(file: string, dataDir: string): void {
  const beside = ['', '-wal', '-shm'].map((ending) => `${file}${ending}`)
  if (isDatabase(file)) for (const path of beside) setMode(path, 0o600)
  setMode(join(dataDir, 'secret'), 0o600)
  // Another folder may hold other things, which other users need.
  const isOurs = dirname(file) === dataDir && readdirSync(dataDir).every((name) => OWN.test(name))
  if (isOurs) setMode(dataDir, 0o700)
}

/** What root makes in the folder of the server's user, that user could not open. */
export function giveToOwnerOf(folder: string, path: string): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(folder)
  chownSync(path, uid, gid)
}

const OWN = /^(?:secret|zonewatch\.db.*|\.writable-\d+)$/

/** Makes it where there is none. */
function isDatabase(file: string): boolean {
  try {
    const opened = openSync(file, 'a+', 0o600)
    try {
      const header = Buffer.alloc(HEADER.length)
      const length = readSync(opened, header, 0, HEADER.length, 0)
      return length === 0 || header.toString('latin1') === HEADER
    } finally {
      closeSync(opened)
    }
  } catch {
    return false
  }
}

function setMode(path: string, mode: number): void {
  try {
    if ((statSync(path).mode & 0o777) !== mode) chmodSync(path, mode)
  } catch {
    // It is not there, or belongs to somebody else.
  }
}
