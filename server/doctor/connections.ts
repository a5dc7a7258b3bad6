import { plural } from '#contract/wording.ts'
import { systemClock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { Database } from '../database/database.ts'
import { POOL_SIZE } from '../database/open.ts'
import { sqlitePathOf } from '../database/url.ts'
import { ALIVE_MS } from '../queue/heartbeat.ts'
import { type Finding, ok, runCheck, warning } from './finding.ts'

const TIMEOUT_MS = 5_000

/** The connections that the processes open at most: each its pool, and a worker process one for wake-up signals. */
export type ConnectionDemand = { processes: number; connections: number }

/** `others`: current connections of other programs. `isPooled`: the URL leads to a pooler, so these limits do not apply. */
export type ConnectionSupply = { allowed: number; others: number; isPooled: boolean }

/** Checks whether PostgreSQL and its replica allow enough connections for all processes of all instances. */
export async function checkConnections(
  db: Database,
  { databaseUrl, databaseReadUrl, roles, workers }: Config,
): Promise<Finding[]> {
  if (sqlitePathOf(databaseUrl) !== undefined) return []
  const running = await readRoles(db)
  // Before the first start, count the processes that this machine will run.
  const planned = [...(roles.has('api') ? [['api']] : []), ...Array.from({ length: workers }, () => ['checker'])]
  const processes = running.length > 0 ? running : planned
  const listeners = processes.filter((roles) => roles.some((role) => role !== 'api')).length
  const apis = processes.filter((roles) => roles.includes('api')).length
  const findings = (check: string, url: string, demand: ConnectionDemand) =>
    runCheck(check, async () => [connectionsFinding(check, demand, await readSupply(url))])
  const demand = { processes: processes.length, connections: processes.length * POOL_SIZE + listeners }
  const primary = await findings('connections', databaseUrl, demand)
  if (databaseReadUrl === null) return primary
  const replicaDemand = { processes: apis, connections: apis * POOL_SIZE }
  return [...primary, ...(await findings('connections of the read replica', databaseReadUrl, replicaDemand))]
}

/** The roles of each running process, on any machine. A process that has not reported its roles yet may have all. */
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

async function readSupply(url: string): Promise<ConnectionSupply> {
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
    // Reserved connections are for superusers and, since PostgreSQL 16, for members of pg_use_reserved_connections.
    const { rows } = await client.query<{ pid: number; allowed: number; others: number }>(`
      select pg_backend_pid() as pid,
        case when rolsuper then current_setting('max_connections')::int else least(
          current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
            - coalesce(current_setting('reserved_connections', true)::int, 0),
          nullif(rolconnlimit, -1), nullif(datconnlimit, -1)) end as allowed,
        (select count(*)::int from pg_stat_activity where datid is not null and application_name <> 'zonewatch') as others
      from pg_roles, pg_database where rolname = current_user and datname = current_database()`)
    const { pid, allowed, others } = rows[0]!
    // A pooler reports its own process id to the client, not that of the PostgreSQL backend.
    return { allowed, others, isPooled: (client as unknown as { processID: number }).processID !== pid }
  } finally {
    await client.end().catch(() => {})
  }
}

export function connectionsFinding(
  check: string,
  { processes, connections }: ConnectionDemand,
  supply: ConnectionSupply,
): Finding {
  const { allowed, others, isPooled } = supply
  const demand = `${plural(processes, '1 process opens', (count) => `${count} processes open`)} up to ${connections}`
  if (isPooled) return ok(check, `${demand} to a pooler, whose max_client_conn must not be less`)
  const what = `${demand}; PostgreSQL allows ${allowed}, and other programs use ${others}`
  if (connections + others <= allowed) return ok(check, what)
  const remedy = 'Raise max_connections and restart PostgreSQL, put PgBouncer in front of it, or lower WORKERS.'
  return warning(check, what, remedy)
}
