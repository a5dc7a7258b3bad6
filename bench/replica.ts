import { tmpdir } from 'node:os'
import { sql } from 'kysely'
import { pino } from 'pino'
import { createApp } from '../server/app.ts'
import { recordAudit } from '../server/audit-log.ts'
import { systemClock } from '../server/clock.ts'
import { readConfig } from '../server/config/config.ts'
import { operatorContext } from '../server/context.ts'
import type { Database } from '../server/database/database.ts'
import { migrate } from '../server/database/migrate.ts'
import { openDatabase } from '../server/database/open.ts'
import { closeDeps, openDeps } from '../server/deps.ts'
import { lowestIdAt } from '../server/ids.ts'
import { startPostgres, startReplica } from '../server/testing/postgres.ts'
import { fill } from './checks-setup.ts'
import { databaseCpu } from './cpu.ts'
import { readOptions } from './options.ts'

/** The cost of an API list on the primary and the replica: without DATABASE_READ_URL, with it, and after a change of the organization. */
const { values: options } = readOptions({
  options: {
    monitors: { type: 'string', default: '20000' },
    /** Requests of each kind, one after the other. */
    requests: { type: 'string', default: '1000' },
  },
})
const REQUESTS = Number(options.requests)
const LISTS = { monitors: '/monitors?limit=100', events: '/events?limit=100', overview: '/dashboard/api/overview' }

async function main(): Promise<void> {
  const primary = await startPostgres()
  const url = `${primary.url}/postgres`
  const first = openDatabase(url)
  await migrate(first, systemClock.now())
  const { key } = await fill(first, Number(options.monitors))
  await insertEvents(first)
  await sql`vacuum analyze`.execute(first)
  await first.destroy()
  const replica = await startReplica(primary)
  const [onPrimary, onReplica] = [openDatabase(url), openDatabase(`${replica.url}/postgres`)]
  const stop = new AbortController()
  const beats = beat(onPrimary, stop.signal)
  try {
    const rows = []
    const readUrl = `${replica.url}/postgres`
    await forget(onPrimary)
    rows.push(...(await measure('primary', url, null, key, onPrimary, onReplica)))
    await systemClock.sleep(1_000)
    rows.push(...(await measure('replica', url, readUrl, key, onPrimary, onReplica)))
    await change(onPrimary)
    rows.push(...(await measure('replica, after a change', url, readUrl, key, onPrimary, onReplica)))
    console.table(rows)
  } finally {
    stop.abort()
    await beats
    await Promise.all([onPrimary.destroy(), onReplica.destroy()])
    await replica.stop()
    await primary.stop()
  }
}

async function measure(
  from: string,
  url: string,
  readUrl: string | null,
  key: string,
  onPrimary: Database,
  onReplica: Database,
) {
  const config = readConfig({
    DATA_DIR: tmpdir(),
    DATABASE_URL: url,
    ...(readUrl && { DATABASE_READ_URL: readUrl }),
    SECRET: 'a secret of the benchmark, longer than 32 characters',
    DNS_SERVERS: '127.0.0.1:1',
    DNS_ROOTS: 'off',
    DNS_CANARIES: 'off',
    READ_LIMIT: '0',
  })
  const deps = openDeps(config, config.secret!, pino({ level: 'silent' }))
  const app = await createApp(deps)
  await app.ready()
  const rows = []
  try {
    for (const [list, path] of Object.entries(LISTS)) {
      const ask = async () => {
        const { statusCode, body } = await app.inject({ url: path, headers: { 'x-api-key': key } })
        if (statusCode !== 200) throw new Error(`${path} answered ${statusCode} ${body}`)
      }
      for (let count = 0; count < 50; count++) await ask()
      const spent = async () => [(await databaseCpu(onPrimary)) ?? 0, (await databaseCpu(onReplica)) ?? 0] as const
      const [before, start] = [await spent(), systemClock.elapsed()]
      for (let count = 0; count < REQUESTS; count++) await ask()
      const ms = systemClock.elapsed() - start
      const after = await spent()
      rows.push({
        from,
        list,
        ms: Number((ms / REQUESTS).toFixed(2)),
        primary_us: Math.round(((after[0] - before[0]) * 1e6) / REQUESTS),
        replica_us: Math.round(((after[1] - before[1]) * 1e6) / REQUESTS),
      })
    }
  } finally {
    await app.close()
    await closeDeps(deps)
  }
  return rows
}

/** Writes heartbeats, from which the server reads the lag of the replica. */
async function beat(db: Database, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    const now = systemClock.now()
    await db.deleteFrom('processes').execute()
    await db.insertInto('processes').values({ pid: 1, machine: 'bench', started_at: now, seen_at: now }).execute()
    await systemClock.sleep(1_000, stop)
  }
}

/** Deletes the audit log, so that the organization has no recent change. */
async function forget(db: Database): Promise<void> {
  await sql`delete from audit_log`.execute(db)
}

async function change(db: Database): Promise<void> {
  const { id } = await db.selectFrom('organizations').select('id').executeTakeFirstOrThrow()
  const object = { id: 'grp_1', label: 'Shop' }
  await recordAudit(db, operatorContext(id, systemClock.now()), {
    action: 'group.created',
    object,
    after: { name: 'Shop' },
  })
}

async function insertEvents(db: Database): Promise<void> {
  await sql`
    insert into events (id, organization_id, monitor_id, group_id, occurred_at, old_state, new_state, previous_values,
      current_values, incidence_count, domain, subdomain, record_type, expected_values, is_exact_match, diagnosis)
    select ${lowestIdAt('evt', systemClock.now())} || substr(md5(monitors.id), 1, 16), organization_id, id, group_id,
      ${systemClock.now()} - row_number() over (order by id), 'VALID', 'MISMATCH', '["192.0.2.1"]', '["192.0.2.9"]', 1,
      domain, subdomain, record_type, expected_values, is_exact_match, null from monitors`.execute(db)
}

await main()
