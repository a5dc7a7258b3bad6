import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { insertOrganization } from '../server/accounts/organizations.ts'
import { systemClock } from '../server/clock.ts'
import { systemContext } from '../server/context.ts'
import type { Database } from '../server/database/database.ts'
import type { Engine } from '../server/database/engine.ts'
import { migrate } from '../server/database/migrate.ts'
import { openDatabase } from '../server/database/open.ts'
import { type EventRow, insertEvents, newEventIds, toEvent } from '../server/events/store.ts'
import { createKeyring } from '../server/keyring.ts'
import { insertMonitors } from '../server/monitors/insert.ts'
import { parseMonitor } from '../server/monitors/parse-monitor.ts'
import { readDatabaseSize } from '../server/operations/database-size.ts'
import { startPostgres } from '../server/testing/postgres.ts'
import { insertRequests } from '../server/webhooks/new-requests.ts'
import { insertWebhook } from '../server/webhooks/webhook-store.ts'
import { readOptions } from './options.ts'

/** The size of a monitor, an event and a delivered webhook request in the database, with their indexes. */
const { values: options } = readOptions({
  options: {
    json: { type: 'boolean', default: false },
    engine: { type: 'string', default: 'sqlite,postgres' },
    rows: { type: 'string', default: '20000' },
    /** Bytes of an event's evidence: about two paths with their answers. */
    diagnosis: { type: 'string', default: '1500' },
  },
})
const ROWS = Number(options.rows)
const BATCH = 1_000
const keyring = createKeyring('a secret of the benchmark, longer than 32 characters')

type Measured = { bench: 'size'; engine: Engine; monitor: number; event: number; request: number }

async function main(): Promise<void> {
  const rows: Measured[] = []
  for (const engine of options.engine.split(',') as Engine[]) rows.push(await withDatabase(engine, measure))
  if (options.json) for (const row of rows) console.log(JSON.stringify(row))
  else console.table(rows)
  if (!options.json) console.log('Octets each; as many GB for a million as thousands here.')
}

async function withDatabase(engine: Engine, work: (db: Database, url: string) => Promise<Omit<Measured, 'engine'>>) {
  const folder = await mkdtemp(join(tmpdir(), 'zonewatch-bench-'))
  const postgres = engine === 'postgres' ? await startPostgres() : undefined
  const url = postgres ? `${postgres.url}/postgres` : `sqlite:${join(folder, 'size.db')}`
  const db = openDatabase(url, { timeoutMs: 0 })
  try {
    await migrate(db, systemClock.now())
    return { ...(await work(db, url)), engine }
  } finally {
    await db.destroy()
    await postgres?.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

async function measure(db: Database, url: string): Promise<Omit<Measured, 'engine'>> {
  const now = systemClock.now()
  const { id } = await insertOrganization(db, { name: 'Bench', email: 'b@example.com', passwordHash: '' }, now)
  const { id: group } = await db.selectFrom('groups').select('id').executeTakeFirstOrThrow()
  const webhook = { url: 'https://hooks.example.com/in', groups: [group] }
  await db.transaction().execute((tx) => insertWebhook(tx, keyring, systemContext(id, now), webhook))
  const perRow = async (work: () => Promise<unknown>) => {
    const before = await compactSize(db, url)
    await work()
    return Math.round(((await compactSize(db, url)) - before) / ROWS)
  }
  const monitors: string[] = []
  const monitor = await perRow(async () => {
    for (let from = 0; from < ROWS; from += BATCH) {
      const drafts = Array.from({ length: BATCH }, (_, index) => draftOf(from + index))
      monitors.push(...(await insertMonitors(db, systemContext(id, now), drafts)).map((made) => made.id))
    }
    await sql`update monitors set state = 'VALID', current_values = '["192.0.2.1"]'`.execute(db)
    await sql`update due_checks set fingerprint = 4503599627370495, streak = 1, last_checked_at = ${now}`.execute(db)
  })
  const events: EventRow[] = []
  const event = await perRow(async () => {
    for (let from = 0; from < ROWS; from += BATCH) {
      const some = monitors.slice(from, from + BATCH)
      const ids = await newEventIds(
        db,
        some.map(() => id),
        now + from,
      )
      const rows = some.map((monitorId, index) => eventOf(ids[index]!, id, group, monitorId, now + from))
      for (let start = 0; start < rows.length; start += 200) await insertEvents(db, rows.slice(start, start + 200))
      events.push(...rows)
    }
  })
  const request = await perRow(async () => {
    for (let from = 0; from < ROWS; from += 500) {
      const some = events.slice(from, from + 500)
      const reported = some.map((row) => ({ organizationId: id, groupId: group, event: toEvent(row) }))
      await db.transaction().execute((tx) => insertRequests(tx, reported, now))
    }
    await sql`update webhook_requests set status = 'DELIVERED', attempts = 1, delivered_at = ${now}, status_code = 200,
      response_body = '{"ok":true}', last_attempt_at = ${now}, next_attempt_at = null,
      timings = '{"dns_ms":1,"connect_ms":10,"tls_ms":20,"first_byte_ms":40,"total_ms":41}'`.execute(db)
    await sql`delete from due_requests`.execute(db)
  })
  return { bench: 'size', monitor, event, request }
}

/** The size without free space of updates and deletions. */
async function compactSize(db: Database, url: string): Promise<number> {
  if (url.startsWith('postgres')) {
    await sql`vacuum full`.execute(db)
    return (await readDatabaseSize(db, url)).bytes
  }
  await sql`vacuum`.execute(db)
  await sql`pragma wal_checkpoint(truncate)`.execute(db)
  return (await readDatabaseSize(db, url)).bytes
}

function draftOf(number: number) {
  const parsed = parseMonitor({ domain: `www${number}.example.com`, record_type: 'A', expected_value: '192.0.2.1' })
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors))
  return parsed.draft
}

function eventOf(id: string, organization: string, group: string, monitor: string, at: number): EventRow {
  return {
    ...{ id, organization_id: organization, monitor_id: monitor, group_id: group, occurred_at: at },
    ...{ old_state: 'VALID', new_state: 'MISMATCH', incidence_count: 1, truncated: 0 },
    ...{ previous_values: '["192.0.2.1"]', current_values: '["192.0.2.9"]', expected_values: '["192.0.2.1"]' },
    ...{ domain: 'example.com', subdomain: 'www', record_type: 'A', is_exact_match: 1 },
    diagnosis: JSON.stringify({ evidence: evidenceText() }),
  }
}

/** A text that compresses as badly as answers of servers. */
function evidenceText(): string {
  let text = ''
  while (text.length < Number(options.diagnosis)) text += `${Math.random().toString(36).slice(2)} IN A NOERROR `
  return text
}

await main()
