import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { pino } from 'pino'
import { insertOrganization } from '../server/accounts/organizations.ts'
import { createApp } from '../server/app.ts'
import { fingerprint } from '../server/checks/fingerprint.ts'
import { systemClock } from '../server/clock.ts'
import { readConfig } from '../server/config/config.ts'
import { systemContext } from '../server/context.ts'
import type { Database } from '../server/database/database.ts'
import type { Engine } from '../server/database/engine.ts'
import { migrate } from '../server/database/migrate.ts'
import { sqlitePathOf } from '../server/database/url.ts'
import { closeDeps, type Deps, openDeps } from '../server/deps.ts'
import type { Outcome } from '../server/dns/outcome.ts'
import { insertMonitors } from '../server/monitors/insert.ts'
import { parseMonitor } from '../server/monitors/parse-monitor.ts'
import { startPostgres } from '../server/testing/postgres.ts'
import { joinRounds } from './check-rounds.ts'
import type { Order, Report } from './dns-responder.ts'

/** The deps and the API of a real server on a full database, and a DNS server in its own process. */
export type Setup = {
  deps: Deps
  url: string
  key: string
  folder: string
  port: number
  order: (order: Order) => Promise<Report>
  /** The slots of the monitors m0, m1, …. */
  slots: number[]
}

const ANSWER: Outcome = {
  kind: 'answer',
  rrset: { name: '', type: 'A', ttl: 300, values: ['192.0.2.1'] },
  chain: [],
}
const SECRET = 'a secret of the benchmark, longer than 32 characters'

export async function withSetup<T>(engine: Engine, count: number, work: (setup: Setup) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'zonewatch-bench-'))
  const postgres = engine === 'postgres' ? await startPostgres() : undefined
  const { port, order, responder } = await startResponder()
  const config = readConfig({
    DATA_DIR: folder,
    DATABASE_URL: postgres ? `${postgres.url}/postgres` : `sqlite:${join(folder, 'bench.db')}`,
    SECRET,
    DNS_SERVERS: `127.0.0.1:${port}`,
    DNS_ROOTS: 'off',
    DNS_CANARIES: 'off',
    DNS_PER_SECOND: '1000000',
    READ_LIMIT: '0',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  })
  const deps = openDeps(config, SECRET, pino({ level: 'warn' }))
  const app = await createApp({ ...deps, log: pino({ level: 'silent' }) })
  let checkpointer: ChildProcess | undefined
  try {
    await migrate(deps.db, systemClock.now())
    checkpointer = startCheckpointer(config.databaseUrl)
    const { slots, key } = await fill(deps.db, count)
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    return await work({ deps, url, key, folder, port, order, slots })
  } finally {
    responder.disconnect()
    checkpointer?.disconnect()
    await app.close()
    await closeDeps(deps)
    await postgres?.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Runs SQLite's checkpoints in its own process, as a server does. */
export function startCheckpointer(databaseUrl: string): ChildProcess | undefined {
  const path = sqlitePathOf(databaseUrl)
  return path === undefined ? undefined : fork(new URL('./checkpointer.ts', import.meta.url), [path])
}

export async function startResponder() {
  const responder: ChildProcess = fork(new URL('./dns-responder.ts', import.meta.url))
  const received = async () => ((await once(responder, 'message')) as [Report])[0]
  const { port } = await received()
  const order = async (request: Order) => {
    responder.send(request)
    return await received()
  }
  return { responder, port: port!, order }
}

/** Creates monitors that were checked and found valid before, as most monitors are. */
export async function fill(db: Database, count: number): Promise<{ slots: number[]; key: string }> {
  const slots: number[] = []
  const now = systemClock.now()
  const organization = { name: 'Bench', email: 'bench@example.com', passwordHash: '' }
  const { id, key } = await insertOrganization(db, organization, now)
  const batch = 5_000
  for (let from = 0; from < count; from += batch) {
    const drafts = Array.from({ length: Math.min(batch, count - from) }, (_, index) => draftOf(from + index))
    slots.push(...(await insertMonitors(db, systemContext(id, now), drafts)).map((row) => row.slot))
  }
  await sql`update monitors set state = 'VALID', current_values = '["192.0.2.1"]'`.execute(db)
  await sql`update due_checks set fingerprint = ${fingerprint(ANSWER)}, streak = 1, due_at = null`.execute(db)
  await joinRounds(db)
  return { slots, key }
}

export const nameOf = (number: number) => `m${number}.example.com`

function draftOf(number: number) {
  const parsed = parseMonitor({ domain: nameOf(number), record_type: 'A', expected_value: '192.0.2.1' })
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors))
  return parsed.draft
}
