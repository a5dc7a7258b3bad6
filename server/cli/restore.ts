import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Manifest } from '../backup/archive.ts'
import { refuseDatabase, restore } from '../backup/restore.ts'
import { CliError, errorMessage } from '../cli-error.ts'
import { systemClock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { sqlitePathOf } from '../database/url.ts'
import { isSecretOf } from '../secrets/current-key.ts'
import { rowCountsText } from './backup.ts'
import { createDataFolder, giveToOwnerOf } from './data-folder.ts'
import { loadConfig } from './load-config.ts'
import { findSecret } from './secret.ts'

/** `zonewatch restore FILE`: creates the database and the secret from a backup. */
export async function restoreBackup(file: string): Promise<void> {
  const config = loadConfig()
  const target = sqlitePathOf(config.databaseUrl)
  if (target === undefined) {
    throw new CliError(
      'zonewatch restore makes an SQLite database. Restore PostgreSQL with pg_restore: docs/guides/back-up-and-restore.md.',
    )
  }
  const now = systemClock.now()
  refuseDatabase(target, now)
  createDataFolder(config.dataDir)
  const secretPath = join(config.dataDir, 'secret')
  let hasWrittenSecret = false
  try {
    const accept = (manifest: Manifest, check: Uint8Array | undefined) => {
      const secret = secretFor(config, secretPath, manifest)
      if (check && !isSecretOf(secret, check)) throw new CliError(otherSecret(config, secretPath))
      if (config.secret !== null || existsSync(secretPath)) return
      writeSecret(secretPath, secret)
      hasWrittenSecret = true
    }
    const { madeAt, version, rows } = await restore({ archive: resolve(file), target, now, accept })
    giveToOwnerOf(dirname(target), target)
    if (hasWrittenSecret) giveToOwnerOf(config.dataDir, secretPath)
    process.stdout.write(`${target} is as it was at ${new Date(madeAt).toISOString()}, with Zonewatch ${version}.
It holds ${rowCountsText(rows)}. Start the server.
`)
  } catch (error) {
    if (hasWrittenSecret) rmSync(secretPath, { force: true })
    throw error
  }
}

/** From the settings, the data folder or the backup, in this order. */
function secretFor(config: Config, path: string, manifest: Manifest): string {
  const existing = findSecret(config)
  if (existing !== undefined) return existing
  if (manifest.secret !== null) return manifest.secret
  throw new CliError(
    `This backup was made without the secret. Set SECRET to that of the server, or put its file "secret" at ${path}, and restore again.`,
  )
}

function otherSecret({ secret }: Config, path: string): string {
  if (secret !== null)
    return 'SECRET is not the one of the backup. Set SECRET to that one, or leave it unset to use the one in the backup.'
  return `${path} is not the secret of the backup. Move that file away to use the one in the backup.`
}

function writeSecret(path: string, secret: string): void {
  try {
    writeFileSync(path, `${secret}\n`, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    throw new CliError(`${path} cannot be written (${errorMessage(error)}).`)
  }
}
