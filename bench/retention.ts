import { sql } from 'kysely'
import { insertOrganization } from '../server/accounts/organizations.ts'
import { systemClock } from '../server/clock.ts'
import { systemContext } from '../server/context.ts'
import type { Database } from '../server/database/database.ts'
import { migrate } from '../server/database/migrate.ts'
import { openDatabase } from '../server/database/open.ts'
import { deleteOldEvents } from '../server/events/retention.ts'
import { listEvents } from '../server/events/store.ts'
import { createKeyring } from '../server/keyring.ts'
import { insertMonitors } from '../server/monitors/insert.ts'
import { parseMonitor } from '../server/monitors/parse-monitor.ts'
import { SELF_HOSTED } from '../server/plan.ts'
import { startPostgres } from '../server/testing/postgres.ts'
import { databaseCpu } from './cpu.ts'
import { readOptions } from './options.ts'

/**
 * The cost of retention on PostgreSQL with a year of events: deletion in batches and the vacuum after it. And the cost of a page
 * of events if its table is divided into partitions by time, which retention could drop (docs/decisions/0017-no-partitions-by-time-yet.md).
 */
const { values: options } = readOptions({
  options: {
    events: { type: 'string', default: '1000000' },
    /** Bytes of an event's evidence. */
    diagnosis: { type: 'string', default: '1500' },
    seconds: { type: 'string', default: '60' },
    /** Events that are copied into a table for each number of partitions. 0: a table without partitions. */
    copied: { type: 'string', default: '200000' },
    partitions: { type: 'string', default: '0,12,52,156' },
    pages: { type: 'string', default: '300' },
  },
})
const EVENTS = Number(options.events)
const ORGANIZATIONS = 10
const MONITORS = 100
const DAY_MS = 24 * 60 * 60_000
const YEAR_MS = 365 * DAY_MS
const keyring = createKeyring('a secret of the benchmark, longer than 32 characters')

async function main(): Promise<void> {
  const postgres = await startPostgres([['max_wal_size', '4GB']])
  const url = `${postgres.url}/postgres`
  const db = openDatabase(url, { timeoutMs: 0, idleMs: 0 })
  try {
    await migrate(db, systemClock.now())
    const now = systemClock.now()
    const organizations = await fill(db, now)
    console.table(await measureDeletion(db, organizations))
    const rows = []
    for (const count of options.partitions.split(',').map(Number)) rows.push(await measurePages(db, url, count, now))
    console.table(rows)
  } finally {
    await db.destroy()
    await postgres.stop()
  }
}

/** The timestamp part of a ULID. */
const ID_AT = `create function id_at(at bigint) returns text language sql immutable as $$
  select 'evt_' || string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz', ((at >> (5 * place)) & 31)::int + 1, 1), '' order by place desc)
  from generate_series(0, 9) place $$`

const AT_ONCE = 500_000

async function fill(db: Database, now: number): Promise<string[]> {
  const organizations: string[] = []
  for (let number = 0; number < ORGANIZATIONS; number++) {
    const email = `b${number}@example.com`
    const { id } = await insertOrganization(db, { name: `Bench ${number}`, email, passwordHash: '' }, now)
    const drafts = Array.from({ length: MONITORS }, (_, index) => draftOf(index))
    await insertMonitors(db, systemContext(id, now), drafts)
    organizations.push(id)
  }
  await sql.raw(ID_AT).execute(db)
  await sql`create table numbered as select row_number() over (order by organization_id, id) - 1 as number, organization_id, id,
    group_id from monitors`.execute(db)
  const { rows: indexes } = await sql<{ name: string; definition: string }>`
    select indexname as name, indexdef as definition from pg_indexes where tablename = 'events' and indexname <> 'events_pkey'`.execute(
    db,
  )
  for (const { name } of indexes) await sql.raw(`drop index ${name}`).execute(db)
  await sql`alter table events disable trigger all`.execute(db)
  const stepMs = YEAR_MS / EVENTS
  for (let from = 0; from < EVENTS; from += AT_ONCE) {
    await sql`
      insert into events (id, organization_id, monitor_id, group_id, occurred_at, old_state, new_state, previous_values,
        current_values, incidence_count, domain, subdomain, record_type, expected_values, is_exact_match, diagnosis)
      select id_at(at) || substr(md5(event::text), 1, 16), organization_id, numbered.id, group_id, at,
        case event % 20 when 0 then 'UNSET' when 1 then 'NOT_FOUND' else 'VALID' end,
        case event % 2 when 0 then 'MISMATCH' else 'VALID' end, '["192.0.2.1"]', '["192.0.2.9"]', 1, 'example.com', 'www', 'A',
        '["192.0.2.1"]', 1,
        '{"evidence":"' || (select string_agg(md5(event::text || part), '') from generate_series(1, ${Math.ceil(Number(options.diagnosis) / 32)}::int) part) || '"}'
      from (select event, (${now - YEAR_MS}::double precision + event * ${stepMs}::double precision)::bigint as at
        from generate_series(${from}::bigint, ${Math.min(EVENTS, from + AT_ONCE) - 1}::bigint) event) made
      join numbered on number = event * 7919 % ${ORGANIZATIONS * MONITORS}`.execute(db)
  }
  await sql`alter table events enable trigger all`.execute(db)
  for (const { definition } of indexes) await sql.raw(definition).execute(db)
  await sql`vacuum analyze events`.execute(db)
  await sql`checkpoint`.execute(db)
  return organizations
}

function draftOf(number: number) {
  const parsed = parseMonitor({ domain: `www${number}.example.com`, record_type: 'A', expected_value: '192.0.2.1' })
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors))
  return parsed.draft
}

/** Runs the retention of the server until the oldest month is deleted or the time is over. */
async function measureDeletion(db: Database, organizations: readonly string[]) {
  await db.updateTable('organizations').set({ event_retention_days: 335 }).where('id', 'in', organizations).execute()
  const size = await bytesOf(db)
  const before = await spent(db)
  const stop = AbortSignal.timeout(Number(options.seconds) * 1_000)
  const from = systemClock.elapsed()
  await deleteOldEvents({ db, clock: systemClock, config: { plans: SELF_HOSTED } }, stop)
  const seconds = (systemClock.elapsed() - from) / 1_000
  const deleted = EVENTS - (await countOf(db))
  const after = await spent(db)
  const vacuumFrom = systemClock.elapsed()
  await sql`vacuum events`.execute(db)
  const vacuumed = await spent(db)
  return [
    {
      gb: round(size / 1e9),
      deleted,
      per_second: Math.round(deleted / seconds),
      db_us_per_row: round(((after.cpu - before.cpu) * 1e6) / deleted),
      wal_octets_per_row: Math.round((after.wal - before.wal) / deleted),
      db_cores: round((after.cpu - before.cpu) / seconds),
      vacuum_s: round((systemClock.elapsed() - vacuumFrom) / 1_000),
      vacuum_us_per_row: round(((vacuumed.cpu - after.cpu) * 1e6) / deleted),
      vacuum_wal_octets_per_row: Math.round((vacuumed.wal - after.wal) / deleted),
    },
  ]
}

/** Measures pages of events as the API lists them, in a table with `partitions` partitions by time. 0: without partitions. */
async function measurePages(db: Database, url: string, partitions: number, now: number) {
  const schema = `with_${partitions}`
  await sql.raw(`create schema ${schema}`).execute(db)
  const kind = partitions === 0 ? '' : 'partition by range (id)'
  await sql.raw(`create table ${schema}.events (like public.events including all) ${kind}`).execute(db)
  const edge = (number: number) => `id_at(${Math.round(now - YEAR_MS + (number * YEAR_MS) / partitions)})`
  for (let number = 0; number < partitions; number++) {
    const { rows } = await sql<{
      from: string
      to: string
    }>`select ${sql.raw(edge(number))} as from, ${sql.raw(edge(number + 1))} as to`.execute(db)
    const [low, high] = [
      number === 0 ? 'minvalue' : `'${rows[0]!.from}'`,
      number === partitions - 1 ? 'maxvalue' : `'${rows[0]!.to}'`,
    ]
    await sql
      .raw(
        `create table ${schema}.events_${number} partition of ${schema}.events for values from (${low}) to (${high})`,
      )
      .execute(db)
  }
  // The same share of every partition.
  const share = Math.min(100, (100 * Number(options.copied)) / EVENTS)
  await sql.raw(`insert into ${schema}.events select * from public.events tablesample bernoulli (${share})`).execute(db)
  await sql.raw(`vacuum analyze ${schema}.events`).execute(db)
  const divided = openDatabase(`${url}?options=-c%20search_path%3D${schema},public`, { connections: 1 })
  try {
    const tenants = await divided.selectFrom('organizations').select('id').execute()
    const monitors = await divided.selectFrom('monitors').select(['id', 'organization_id']).limit(50).execute()
    const measured: Record<string, number> = { partitions }
    const pages = {
      newest: (turn: number) =>
        listEvents(divided, keyring, { organizationId: tenants[turn % tenants.length]!.id }, { limit: 25 } as never),
      of_state: (turn: number) =>
        listEvents(divided, keyring, { organizationId: tenants[turn % tenants.length]!.id }, {
          limit: 25,
          new_state: 'MISMATCH',
        } as never),
      of_monitor: (turn: number) => {
        const { id, organization_id } = monitors[turn % monitors.length]!
        return listEvents(divided, keyring, { organizationId: organization_id }, { limit: 25, monitor_id: id } as never)
      },
    }
    for (const [name, read] of Object.entries(pages)) {
      for (let turn = 0; turn < 20; turn++) await read(turn)
      const [before, from] = [await spent(db), systemClock.elapsed()]
      for (let turn = 0; turn < Number(options.pages); turn++) await read(turn)
      const ms = systemClock.elapsed() - from
      const after = await spent(db)
      measured[`${name}_ms`] = round(ms / Number(options.pages))
      measured[`${name}_db_us`] = Math.round(((after.cpu - before.cpu) * 1e6) / Number(options.pages))
    }
    return measured
  } finally {
    await divided.destroy()
    await sql.raw(`drop schema ${schema} cascade`).execute(db)
  }
}

async function spent(db: Database): Promise<{ cpu: number; wal: number }> {
  const { rows } = await sql<{ bytes: number }>`
    select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint as bytes`.execute(db)
  return { cpu: (await databaseCpu(db)) ?? 0, wal: rows[0]!.bytes }
}

async function bytesOf(db: Database): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`select pg_total_relation_size('events') as bytes`.execute(db)
  return rows[0]!.bytes
}

async function countOf(db: Database): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from events`.execute(db)
  return rows[0]!.count
}

const round = (value: number) => Number(value.toFixed(2))

await main()
