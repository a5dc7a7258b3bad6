import { closeSync, existsSync, openSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { CliError, errorMessage } from '../cli-error.ts'
import { systemClock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { InvalidSetting, parseDatabaseUrl } from '../config/parse.ts'
import { copyDatabase, type Progress } from '../copy/copy-database.ts'
import type { Database } from '../database/database.ts'
import { openDatabase } from '../database/open.ts'
import { sqlitePathOf } from '../database/url.ts'
import { isSecretOf } from '../secrets/current-key.ts'
import { print, printJson } from './arguments.ts'
import { giveToOwnerOf } from './data-folder.ts'
import { loadConfig } from './load-config.ts'
import { findSecret } from './secret.ts'

export type CopyCommandOptions = { from?: string; to?: string; json?: boolean }

/** `zonewatch copy --from URL --to URL`: copies everything from one database to another, of the other engine or the same. */
export async function copy({ from, to, json }: CopyCommandOptions): Promise<void> {
  const config = loadConfig()
  const source = parseUrl('--from', from ?? config.databaseUrl)
  const target = parseUrl('--to', to ?? config.databaseUrl)
  if (source === target) {
    throw new CliError(
      'Give the database to copy with --from, or where to with --to; the other one is DATABASE_URL. They must differ.',
    )
  }
  const [sourcePath, targetPath] = [sqlitePathOf(source), sqlitePathOf(target)]
  if (sourcePath !== undefined && !existsSync(sourcePath)) throw new CliError(`There is no database at ${sourcePath}.`)
  if (targetPath !== undefined) createFile(targetPath)
  const [sourceDb, targetDb] = [source, target].map((url) =>
    openDatabase(url, { connections: 2, timeoutMs: 0, idleMs: 0 }),
  )
  const startedAt = systemClock.elapsed()
  try {
    await refuseOtherSecret(sourceDb!, nameOf(source), config)
    const result = await copyDatabase({
      source: sourceDb!,
      sourceName: nameOf(source),
      target: targetDb!,
      targetName: nameOf(target),
      now: systemClock.now(),
      onProgress: progressPrinter(),
    })
    const seconds = Math.round((systemClock.elapsed() - startedAt) / 1000)
    if (json) return printJson({ rows: result.rows, seconds, resumed: result.resumed, tables: result.tables })
    const tables = Object.keys(result.tables).length
    print(`Copied and verified ${result.rows} rows of ${tables} tables in ${seconds} seconds.
Set DATABASE_URL to ${nameOf(target)}, keep SECRET (docs/guides/move-to-postgresql.md), and start the server.
Do not start a server on ${nameOf(source)} again: both would deliver.`)
  } catch (error) {
    if (error instanceof CliError) throw error
    throw new CliError(
      `The copy stopped: ${errorMessage(error)}. Nothing is lost: the source is unchanged. Run the same command again to continue.`,
      { cause: error },
    )
  } finally {
    await Promise.allSettled([sourceDb!.destroy(), targetDb!.destroy()])
  }
}

function parseUrl(option: string, text: string): string {
  try {
    return parseDatabaseUrl(text)
  } catch (error) {
    if (!(error instanceof InvalidSetting)) throw error
    throw new CliError(`${option} ${error.message}`)
  }
}

/** Without user and password. */
function nameOf(url: string): string {
  const path = sqlitePathOf(url)
  if (path !== undefined) return path
  const { host, pathname } = new URL(url)
  return `postgres://${host}${pathname}`
}

function createFile(path: string): void {
  if (existsSync(path)) return
  try {
    closeSync(openSync(path, 'wx', 0o600))
    giveToOwnerOf(dirname(path), path)
  } catch (error) {
    throw new CliError(`${path} cannot be created (${errorMessage(error)}). Use a path in a writable folder.`)
  }
}

/** The copy is useless without the SECRET that decrypts it. */
async function refuseOtherSecret(db: Database, name: string, config: Config): Promise<void> {
  const check = await db
    .selectFrom('secret_check')
    .select('value')
    .executeTakeFirst()
    .catch(() => undefined) // copyDatabase says what is wrong with the database
  if (!check) return
  const secret = findSecret(config)
  if (secret === undefined) {
    throw new CliError(
      `${join(config.dataDir, 'secret')} cannot be read. Run this as the user of the server and with its settings (SECRET, DATA_DIR).`,
    )
  }
  if (!isSecretOf(secret, check.value)) {
    throw new CliError(
      `SECRET is not the one of ${name}: it would not decrypt the copy. Run this with the settings of the server (SECRET, DATA_DIR).`,
    )
  }
}

const PROGRESS_EVERY_MS = 2_000

/** A line every two seconds, on standard error. */
function progressPrinter(): (progress: Progress) => void {
  let lastAt = systemClock.elapsed()
  return ({ step, table, done, rows }) => {
    const now = systemClock.elapsed()
    if (now - lastAt < PROGRESS_EVERY_MS) return
    lastAt = now
    const verb = step === 'copy' ? 'Copying' : 'Verifying'
    process.stderr.write(`${verb} ${table}: ${done} of ${rows} rows (${Math.floor((done / rows) * 100)} %)\n`)
  }
}
