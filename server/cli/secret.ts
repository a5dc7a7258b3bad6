import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CliError, errorMessage } from '../cli-error.ts'
import type { Config } from '../config/config.ts'
import { splitSecrets } from '../secrets/current-key.ts'

/** The current SECRET and the previous ones, one per line, from the settings or the data folder. Creates none. */
export function findSecret({ secret, secretPrevious, dataDir }: SecretSettings): string | undefined {
  if (secret !== null) return [secret, ...secretPrevious].join('\n')
  try {
    return readFileSync(join(dataDir, 'secret'), 'utf8').trim()
  } catch {
    return undefined
  }
}

type SecretSettings = Pick<Config, 'secret' | 'secretPrevious' | 'dataDir'>

/** `text`: the current SECRET. `path`: of the file in the data folder, which may not exist. */
export type Secret = { text: string; previous: string[]; source: 'settings' | 'file' | 'new file'; path: string }

/** Reads SECRET from the settings or the data folder, and creates the file if it does not exist. */
export function loadOrCreateSecret({ secret, secretPrevious, dataDir }: SecretSettings): Secret {
  const path = join(dataDir, 'secret')
  if (secret !== null) return { text: secret, previous: secretPrevious, source: 'settings', path }
  let source: Secret['source'] = 'new file'
  try {
    writeFileSync(path, `${randomBytes(32).toString('base64')}\n`, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST')
      throw new CliError(`${path} cannot be written (${errorMessage(error)}).`)
    source = 'file'
  }
  const [text, ...previous] = readSecrets(path)
  return { text, previous, source, path }
}

/** Throws a `CliError` for a file without a valid secret. */
export function readSecrets(path: string): [string, ...string[]] {
  const [first = '', ...previous] = splitSecrets(readFileSync(path, 'utf8'))
  if ([first, ...previous].some((secret) => secret.length < 32))
    throw new CliError(`${path} does not contain a secret of at least 32 characters. Restore it from a backup.`)
  return [first, ...previous]
}
