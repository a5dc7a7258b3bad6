import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { CliError } from '../cli-error.ts'
import { type Config, InvalidConfig, readConfig } from '../config/config.ts'
import type { Database } from '../database/database.ts'
import { sqlitePathOf } from '../database/url.ts'
import { closeDeps, type Deps, openDeps } from '../deps.ts'
import { systemServers } from '../dns/server-address.ts'
import { checkConnections } from '../doctor/connections.ts'
import { checkDatabase, checkReplica } from '../doctor/database.ts'
import { checkFiles, checkSettings, deniedFolder } from '../doctor/files.ts'
import { type Finding, failure, ok, runCheck, warning } from '../doctor/finding.ts'
import { checkCanaries, checkEgress, checkSmtp } from '../doctor/outbound.ts'
import { checkProxy } from '../doctor/proxy.ts'
import { checkRoots, checkUpstream } from '../doctor/upstreams.ts'
import { createLog } from '../log.ts'
import { isSecretOf, splitSecrets } from '../secrets/current-key.ts'
import { print, printJson } from './arguments.ts'
import { findSecret } from './secret.ts'
import { table } from './table.ts'

/** How many endpoints are checked, the newest first. */
const MAX_WEBHOOKS = 5

/** `zonewatch doctor`: prints one line per check and changes nothing. Exit code 1 if a check fails. */
export async function doctor({ json }: { json?: boolean }): Promise<void> {
  const findings = await runChecks()
  if (json) printJson(findings)
  else {
    const rows = findings.map(({ status, check, detail, remedy }) => [
      status,
      check,
      remedy === null ? detail : `${detail}. ${remedy}`,
    ])
    const count = (status: Finding['status']) => findings.filter((finding) => finding.status === status).length
    print(`${table(['STATUS', 'CHECK', 'FINDING'], rows)}

OK: ${count('ok')}, warnings: ${count('warning')}, failures: ${count('failure')}`)
  }
  process.exit(findings.some(({ status }) => status === 'failure') ? 1 : 0)
}

async function runChecks(): Promise<Finding[]> {
  const config = readSettings()
  if (Array.isArray(config)) return config
  const denied = deniedFolder(config)
  if (denied) return [denied]
  const secret = findSecret(config)
  const path = sqlitePathOf(config.databaseUrl)
  const hasDatabase = path === undefined || exists(path)
  const deps = openDeps(
    config,
    splitSecrets(secret ?? 'not a secret: doctor opens nothing without one'),
    await createLog({ ...config, logLevel: 'silent' }),
  )
  try {
    // Before the other checks, because the integrity check blocks the event loop while SQLite reads the whole file.
    const database = hasDatabase
      ? await runCheck('database', () => runDatabaseChecks(deps, secret))
      : [noDatabase(config)]
    const groups = await Promise.all([
      [...checkSettings(config, config.lines.length), ...checkFiles(config)],
      database,
      ...(config.dnsServers ?? systemServers()).map((server) =>
        runCheck('upstream', () => checkUpstream(server, { clock: deps.clock, knownName: config.dnsCanaries[0] })),
      ),
      config.dnsServers === null && systemServers().length === 0
        ? [failure('upstream', 'the system names no resolver', 'Set DNS_SERVERS.')]
        : [],
      runCheck('roots', () => checkRoots(config.dnsRoots, deps)),
      runCheck('canaries', async () => [await checkCanaries(deps.networkCheck, config.dnsCanaries)]),
      runCheck('SMTP', async () => [await checkSmtp(config.smtp)]),
      runCheck('webhook egress', async () =>
        checkEgress(hasDatabase ? await webhookUrls(deps.db) : [], deps.safeFetch, config.webhookProxy),
      ),
      runCheck('reverse proxy', () => checkProxy({ ...config, ...deps })),
    ])
    return groups.flat()
  } finally {
    await closeDeps(deps)
  }
}

/** Returns a finding for each invalid setting. Nothing else can be checked then. */
function readSettings(): Config | Finding[] {
  try {
    return readConfig()
  } catch (error) {
    if (!(error instanceof InvalidConfig)) throw error
    return Object.entries(error.errors).map(([setting, message]) =>
      failure(
        'settings',
        `${setting} ${message.replace(/\.$/, '')}`,
        'Correct it, then run this again to check the rest.',
      ),
    )
  }
}

async function runDatabaseChecks({ db, config, clock }: Deps, secret: string | undefined): Promise<Finding[]> {
  const found = await checkDatabase({ db, config, clock })
  return [
    ...found,
    ...(await checkReplica({ config, clock })),
    ...(await runCheck('connections', () => checkConnections(db, config))),
    ...(await runCheck('secret', () => checkSecret(db, secret))),
  ]
}

function noDatabase({ databaseUrl }: Config): Finding {
  const path = sqlitePathOf(databaseUrl)!
  return existsSync(path)
    ? failure('database', `${path} cannot be opened`, 'Run this as the user of the server. Restore a damaged file.')
    : failure('database', `there is none at ${path}`, 'Check DATA_DIR and DATABASE_URL, or start the server once.')
}

/** Opens it read-only, because `openDatabase` would create it. */
function exists(path: string): boolean {
  try {
    new DatabaseSync(path, { readOnly: true }).close()
    return true
  } catch {
    return false
  }
}

async function checkSecret(db: Database, secret: string | undefined): Promise<Finding[]> {
  const row = await db.selectFrom('secret_check').select('value').executeTakeFirst()
  if (row === undefined) return [warning('secret', 'the database has none yet', 'Start the server once.')]
  if (secret !== undefined && isSecretOf(secret, row.value)) return [ok('secret', 'opens the database')]
  const what = secret === undefined ? 'is missing, or this user cannot read it' : 'is not the one of the database'
  return [failure('secret', what, 'Set SECRET, or put the file "secret" of a backup into DATA_DIR.')]
}

async function webhookUrls(db: Database): Promise<string[]> {
  const rows = await db
    .selectFrom('webhooks')
    .select('url')
    .where('is_active', '=', 1)
    .orderBy('id', 'desc')
    .limit(MAX_WEBHOOKS)
    .execute()
    .catch(() => {
      throw new CliError('the webhooks cannot be read')
    })
  return [...new Set(rows.map(({ url }) => url))]
}
