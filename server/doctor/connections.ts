import { plural } from '#contract/wording.ts'
import { systemClock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../database/database.ts'
import { POOL_SIZE } from '../database/open.ts'
import { pathOf } from '../database/url.ts'
import { type Finding, findingsOf, ok, warning } from './finding.ts'

/** Processes that reported themselves within this count as running; they do so every 2 s. */
const ALIVE_MS = 8_000
const TIMEOUT_MS = 5_000

/** What the processes open at most, each its pool and the one that listens for wake-up signals. */
export type Demand = { processes: number; connections: number }

/** `others`: connections of other programs now. `isPooled`: the URL leads to a pooler, so PostgreSQL has other connections. */
export type Supply = { allowed: number; others: number; isPooled: boolean }

/** Whether PostgreSQL, and its replica, have enough connections for the pools of all processes of all instances. */
export async function findConnections(
  db: Database,
  { databaseUrl, databaseReadUrl, roles, workers }: Config,
): Promise<Finding[]> {
  if (pathOf(databaseUrl) !== undefined) return []
  const running = await readRoles(db)
  // Before the first start: what this machine is going to run.
  const planned = [...(roles.has('api') ? [['api']] : []), ...Array.from({ length: workers }, () => ['checker'])]
  const processes = running.length > 0 ? running : planned
  const onPrimary = processes.reduce((sum, each) => sum + POOL_SIZE + (each.some((role) => role !== 'api') ? 1 : 0), 0)
  const serving = processes.filter((each) => each.includes('api')).length
  const check = 'connections'
  const primary = findingsOf(check, async () => [
    onConnections(check, { processes: processes.length, connections: onPrimary }, await supplyOf(databaseUrl)),
  ])
  if (databaseReadUrl === null) return await primary
  const ofReplica = `${check} of the read replica`
  const replica = findingsOf(ofReplica, async () => [
    onConnections(ofReplica, { processes: serving, connections: serving * POOL_SIZE }, await supplyOf(databaseReadUrl)),
  ])
  return [...(await primary), ...(await replica)]
}

/** The roles of each process that runs, on any machine. One that has not reported them yet may have all. */
async function readRoles(db: Database): Promise<string[][]> {
  const rows = await db
    .selectFrom('processes')
    .select('report')
    .where('seen_at', '>=', systemClock.now() - ALIVE_MS)
    .execute()
  return rows.map(({ report }) =>
    report === null ? ['api', 'checker'] : (JSON.parse(report) as { roles: string[] }).roles,
  )
}

async function supplyOf(url: string): Promise<Supply> {
  const { default: pg } = await import('pg')
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: TIMEOUT_MS,
    query_timeout: TIMEOUT_MS,
    application_name: 'zonewatch',
  })
  client.on('error', () => {})
  try {
    await client.connect()
    // Reserved ones are for superusers and for members of pg_use_reserved_connections; 16 and newer have the second kind.
    const { rows } = await client.query<{ pid: number; allowed: number; others: number }>(`
      select pg_backend_pid() as pid,
        case when rolsuper then current_setting('max_connections')::int else least(
          current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
            - coalesce(current_setting('reserved_connections', true)::int, 0),
          nullif(rolconnlimit, -1), nullif(datconnlimit, -1)) end as allowed,
        (select count(*)::int from pg_stat_activity where datid is not null and application_name <> 'zonewatch') as others
      from pg_roles, pg_database where rolname = current_user and datname = current_database()`)
    const { pid, allowed, others } = rows[0]!
    // A pooler gives each client a number of its own, so that it can be cancelled whichever server it uses.
    return { allowed, others, isPooled: (client as unknown as { processID: number }).processID !== pid }
  } finally {
    await client.end().catch(() => {})
  }
}

export function onConnections(check: string, { processes, connections }: Demand, supply: Supply): Finding {
  const { allowed, others, isPooled } = supply
  const wanted = `${plural(processes, '1 process opens', (count) => `${count} processes open`)} up to ${connections}`
  if (isPooled) return ok(check, `${wanted} to a pooler, whose max_client_conn must not be less`)
  const what = `${wanted}; PostgreSQL allows ${allowed}, and other programs use ${others}`
  if (connections + others <= allowed) return ok(check, what)
  const remedy = 'Raise max_connections and restart PostgreSQL, put PgBouncer in front of it, or lower WORKERS.'
  return warning(check, what, remedy)
}
