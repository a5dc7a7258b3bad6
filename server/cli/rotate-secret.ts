import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { plural } from '#contract/wording.ts'
import { syncToDisk } from '../backup/back-up.ts'
import { CliError } from '../cli-error.ts'
import { systemClock } from '../clock.ts'
import { openDatabase } from '../database/open.ts'
import { createKeyring, type Keyring } from '../keyring.ts'
import { needsPrevious } from '../secrets/current-key.ts'
import { rotate } from '../secrets/rotate.ts'
import { prepareDataFolder } from './data-folder.ts'
import { loadConfig } from './load-config.ts'
import { prepareDatabase } from './prepare-database.ts'
import { loadOrCreateSecret, readSecrets, type Secret } from './secret.ts'

/** `zonewatch rotate-secret`: encrypts the database under a new SECRET, while the server runs. */
export async function rotateSecret({ forgetPrevious = false }: { forgetPrevious?: boolean }): Promise<void> {
  const config = loadConfig()
  prepareDataFolder(config)
  const secret = loadOrCreateSecret(config)
  const keyring = createKeyring(secret.text, ...secret.previous)
  const db = openDatabase(config.databaseUrl, { connections: 2 })
  const say = (sentence: string) => void process.stdout.write(`${sentence}\n`)
  try {
    await prepareDatabase(db, config, secret, keyring)
    const isInterrupted = await needsPrevious(db)
    const next = nextKey(secret, keyring, isInterrupted)
    const count = await rotate({ db, keyring, clock: systemClock, say }, next)
    say(plural(count, '1 value was re-encrypted.', (number) => `${number} values were re-encrypted.`))
    say('Nothing in the database needs the previous SECRET any more.')
    say(finish(secret, forgetPrevious))
  } finally {
    await db.destroy()
  }
}

/** Returns the id of the key to use from now on: the one of SECRET, or a new one in the file unless a rotation was interrupted. */
function nextKey({ text, previous, source, path }: Secret, keyring: Keyring, isInterrupted: boolean): string {
  const keyId = createKeyring(text).keyId
  if (keyId !== keyring.keyId || isInterrupted) return keyId
  if (source === 'settings') {
    if (previous.length > 0) return keyId
    throw new CliError(
      'SECRET is the one in use. Set SECRET to a new one and SECRET_PREVIOUS to the one in use on every node, restart the nodes, then run this.',
    )
  }
  const newSecret = randomBytes(32).toString('base64')
  writeSecrets(path, [newSecret, text])
  keyring.addSecrets([newSecret])
  return createKeyring(newSecret).keyId
}

/** Removes the previous secret from the file if requested. Returns what to do next. */
function finish({ source, path }: Secret, forgetPrevious: boolean): string {
  if (source === 'settings') {
    return 'Remove SECRET_PREVIOUS after 7 days: until then cursors and links that it signed stay valid. Remove it at once if it was stolen.'
  }
  if (!forgetPrevious) {
    return `${path} holds the new SECRET and the previous one, for cursors and links that it signed. Make a backup now.`
  }
  writeSecrets(path, [readSecrets(path)[0]!])
  return `${path} holds the new SECRET alone. Restart the server: cursors and links that the previous one signed are invalid. Make a backup now.`
}

/** Atomic: a reader sees the old file or the new one, also after a power failure. */
function writeSecrets(path: string, secrets: readonly string[]): void {
  const temporaryPath = `${path}.new`
  const file = openSync(temporaryPath, 'w', 0o600)
  writeSync(file, secrets.map((secret) => `${secret}\n`).join(''))
  fsyncSync(file)
  closeSync(file)
  renameSync(temporaryPath, path)
  syncToDisk(dirname(path))
}
