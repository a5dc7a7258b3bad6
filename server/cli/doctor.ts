import { DatabaseSync } from 'node:sqlite'
import { CliError } from '../cli-error.ts'
import { type Config, InvalidConfig, readConfig } from '../config/config.ts'
import type { Database } from '../database/database.ts'
import { pathOf } from '../database/url.ts'
import { closeDeps, type Deps, openDeps } from '../deps.ts'
import { systemServers } from '../dns/server-address.ts'
import { findConnections } from '../doctor/connections.ts'
import { findDatabase, findReplica } from '../doctor/database.ts'
import { type Finding, failure, findingsOf, ok, warning } from '../doctor/finding.ts'
import { findPlaces, findSettings } from '../doctor/places.ts'
import { findProxy } from '../doctor/proxy.ts'
import { findRoots, findUpstream } from '../doctor/upstreams.ts'
import { findCanaries, findEgress, findSmtp } from '../doctor/ways-out.ts'
import { createLog } from '../log.ts'
import { isSecretOf, splitSecrets } from '../secrets/current-key.ts'
import { findSecret } from './open.ts'
import { table } from './table.ts'

/** Endpoints that are tried, the ones that were used last. */
const MOST_WEBHOOKS = 5

/** `zonewatch doctor`: what works and what does not, a line each. It changes nothing. Exit code 1 where something fails. */
export async function doctor({ json }: { json?: boolean }): Promise<void> {
  const findings = await findAll()
  if (json) process.stdout.write(`${JSON.stringify(findings)}\n`)
  else {
    const rows = findings.map(({ status, check, detail, remedy }) => [
      status,
      check,
      remedy === null ? detail : `${detail}. ${remedy}`,
    ])
    const count = (status: Finding['status']) => findings.filter((each) => each.status === status).length
    process.stdout.write(`${table(['STATUS', 'CHECK', 'FINDING'], rows)}

OK: ${count('ok')}, warnings: ${count('warning')}, failures: ${count('failure')}
`)
  }
  process.exit(findings.some(({ status }) => status === 'failure') ? 1 : 0)
}

async function findAll(): Promise<Finding[]> {
  const config = settings()
  if (Array.isArray(config)) return config
  const secret = findSecret(config)
  const path = pathOf(config.databaseUrl)
  const hasDatabase = path === undefined || isThere(path)
  const deps = openDeps(
    config,
    splitSecrets(secret ?? 'without a secret nothing is opened here'),
    await createLog({ ...config, logLevel: 'silent' }),
  )
  try {
    // Alone: reading the whole file holds up everything else of this process.
    const database = hasDatabase
      ? await findingsOf('database', () => findAllOfDatabase(deps, secret))
      : [noDatabase(config)]
    const groups = await Promise.all([
      [...findSettings(config, config.lines.length), ...findPlaces(config)],
      database,
      ...(config.dnsServers ?? systemServers()).map((server) =>
        findingsOf('upstream', () => findUpstream(server, { clock: deps.clock, knownName: config.dnsCanaries[0] })),
      ),
      config.dnsServers === null && systemServers().length === 0
        ? [failure('upstream', 'the system names no resolver', 'Set DNS_SERVERS.')]
        : [],
      findingsOf('roots', () => findRoots(config.dnsRoots, deps)),
      findingsOf('canaries', async () => [await findCanaries(deps.networkCheck, config.dnsCanaries)]),
      findingsOf('SMTP', async () => [await findSmtp(config.smtp)]),
      findingsOf('webhook egress', async () =>
        findEgress(hasDatabase ? await webhookUrls(deps.db) : [], deps.safeFetch, config.webhookProxy),
      ),
      findingsOf('reverse proxy', () => findProxy({ ...config, ...deps })),
    ])
    return groups.flat()
  } finally {
    await closeDeps(deps)
  }
}

/** Each wrong setting is a finding of its own, and nothing else can be checked then. */
function settings(): Config | Finding[] {
  try {
    return readConfig()
  } catch (error) {
    if (!(error instanceof InvalidConfig)) throw error
    return Object.entries(error.errors).map(([name, sentence]) =>
      failure(
        'settings',
        `${name} ${sentence.replace(/\.$/, '')}`,
        'Correct it, then run this again to check the rest.',
      ),
    )
  }
}

async function findAllOfDatabase({ db, config, clock }: Deps, secret: string | undefined): Promise<Finding[]> {
  const found = await findDatabase({ db, config, clock })
  return [
    ...found,
    ...(await findReplica({ config, clock })),
    ...(await findingsOf('connections', () => findConnections(db, config))),
    ...(await findingsOf('secret', () => findSecretCheck(db, secret))),
  ]
}

const noDatabase = ({ databaseUrl }: Config) =>
  failure(
    'database',
    `there is none at ${pathOf(databaseUrl)}`,
    'Check DATA_DIR and DATABASE_URL, or start the server once.',
  )

/** Opening one that is not there would make it. */
function isThere(path: string): boolean {
  try {
    new DatabaseSync(path, { readOnly: true }).close()
    return true
  } catch {
    return false
  }
}

async function findSecretCheck(db: Database, secret: string | undefined): Promise<Finding[]> {
  const row = await db.selectFrom('secret_check').select('value').executeTakeFirst()
  if (row === undefined) return [warning('secret', 'the database has none yet', 'Start the server once.')]
  if (secret !== undefined && isSecretOf(secret, row.value)) return [ok('secret', 'opens the database')]
  const what = secret === undefined ? 'is missing' : 'is not the one of the database'
  return [failure('secret', what, 'Set SECRET, or put the file "secret" of a backup into DATA_DIR.')]
}

async function webhookUrls(db: Database): Promise<string[]> {
  const rows = await db
    .selectFrom('webhooks')
    .select('url')
    .where('is_active', '=', 1)
    .orderBy('id', 'desc')
    .limit(MOST_WEBHOOKS)
    .execute()
    .catch(() => {
      throw new CliError('the webhooks cannot be read')
    })
  return [...new Set(rows.map(({ url }) => url))]
}
