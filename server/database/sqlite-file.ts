import { statSync } from 'node:fs'

const EVERY_MS = 500

/**
 * Calls `onLost` once when another file, or none, is at `path`. The open connections go on writing to a file that was deleted, moved or
 * whose mount is gone: everything looks well, and is lost when the server stops.
 */
export function watchSqliteFile(path: string, onLost: (message: string) => void): void {
  const opened = identityOf(path)
  const timer = setInterval(() => {
    const found = identityOf(path)
    if (found === opened || found === 'unknown') return
    clearInterval(timer)
    const what = found === 'missing' ? 'was deleted or moved' : 'was replaced by another file'
    onLost(
      `The database file ${path} ${what} while the server runs. The server stops, because what it writes now would be lost. ` +
        'Put the file back, or restore a backup, before you start it again.',
    )
  }, EVERY_MS)
  timer.unref()
}

/** `unknown`: a file system that does not answer for a moment is no loss. */
function identityOf(path: string): string {
  try {
    const { dev, ino } = statSync(path, { bigint: true })
    return `${dev}:${ino}`
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOENT' || code === 'ENOTDIR' ? 'missing' : 'unknown'
  }
}
