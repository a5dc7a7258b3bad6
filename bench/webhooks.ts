import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { Agent } from 'undici'
import { insertOrganization } from '../server/accounts/organizations.ts'
import { systemClock } from '../server/clock.ts'
import { systemContext } from '../server/context.ts'
import type { Database } from '../server/database/database.ts'
import type { Engine } from '../server/database/engine.ts'
import { migrate } from '../server/database/migrate.ts'
import { openDatabase } from '../server/database/open.ts'
import { insertGroup } from '../server/groups/store.ts'
import { newId } from '../server/ids.ts'
import { createKeyring } from '../server/keyring.ts'
import { LoopHealth } from '../server/loop-health.ts'
import { createWakeUps } from '../server/queue/wake-up.ts'
import { parseNetworks } from '../server/safe-http/address-policy.ts'
import { createSafeFetch } from '../server/safe-http/safe-fetch.ts'
import { startPostgres } from '../server/testing/postgres.ts'
import { fanOut } from '../server/webhooks/deferred-fan-out.ts'
import { runDispatcher } from '../server/webhooks/dispatcher.ts'
import { insertRequests, type ReportedEvent } from '../server/webhooks/new-requests.ts'
import { readBody } from '../server/webhooks/request-body.ts'
import { newWebhookSecret, signatureHeaders } from '../server/webhooks/signature.ts'
import { insertWebhook } from '../server/webhooks/webhook-store.ts'
import { readOptions } from './options.ts'

const { values: options } = readOptions({
  options: {
    json: { type: 'boolean', default: false },
    engine: { type: 'string', default: 'sqlite' },
    webhooks: { type: 'string', default: '1,100,10000' },
    requests: { type: 'string', default: '40000' },
    /** Among which the webhooks are divided. */
    organizations: { type: 'string', default: '1' },
    /** One in so many receivers never answers; 0 for none. */
    hanging: { type: 'string', default: '0' },
    /** A database that stands already. */
    url: { type: 'string' },
  },
})

type Row = {
  bench: 'webhooks'
  engine: Engine
  webhooks: number
  hanging: number
  delivered_per_second: number
  undici_per_second: number
  share: number
  cpu_s_per_1000: number
  /** Of the plain posts: on a busy machine these two compare better than the rates. */
  undici_cpu_s_per_1000: number
  arrival_p50_ms: number
  arrival_p99_ms: number
  /** For what another process wrote: no wake-up signal comes, the dispatcher has to look. */
}
type Report = { received: number; latencies: number[] }

const LIMITS = { total: 200, perWebhook: 8 }
const PLAIN_CONNECTIONS = 50
const TIMED = 100
/** The share of the requests before the measurement starts, to warm up compilers and connections. */
const WARM_UP_SHARE = 0.25
const keyring = createKeyring('x'.repeat(32))

async function main() {
  const engine = options.engine as Engine
  const postgres = engine === 'postgres' && !options.url ? await startPostgres() : undefined
  const rows: Row[] = []
  try {
    for (const count of options.webhooks.split(',').map(Number)) {
      rows.push(await withSetup(engine, options.url ?? postgres?.url, (setup) => measure(setup, engine, count)))
      if (options.json) console.log(JSON.stringify(rows.at(-1)))
    }
  } finally {
    await postgres?.stop()
  }
  if (!options.json) console.table(rows)
}

type Setup = { db: Database; port: number; readReport: () => Promise<Report> }

async function withSetup<T>(engine: Engine, server: string | undefined, work: (setup: Setup) => Promise<T>) {
  const folder = await mkdtemp(join(tmpdir(), 'zonewatch-bench-'))
  const receiver = fork(new URL('./webhook-receiver.ts', import.meta.url))
  const url = engine === 'sqlite' ? `sqlite:${join(folder, 'bench.db')}` : await createDatabase(server!)
  const db = openDatabase(url)
  try {
    const [{ port }] = (await once(receiver, 'message')) as [{ port: number }]
    await migrate(db, systemClock.now())
    const readReport = async () => {
      receiver.send('report')
      const [report] = (await once(receiver, 'message')) as [Report]
      return report
    }
    return await work({ db, port, readReport })
  } finally {
    receiver.disconnect()
    await db.destroy()
    await rm(folder, { recursive: true, force: true })
  }
}

async function createDatabase(server: string): Promise<string> {
  const { default: pg } = await import('pg')
  const name = `bench_${process.pid}_${Math.floor(systemClock.elapsed())}`
  const client = new pg.Client({ connectionString: `${server}/postgres` })
  await client.connect()
  await client.query(`create database ${name}`)
  await client.end()
  return `${server}/${name}`
}

async function measure({ db, port, readReport }: Setup, engine: Engine, webhooks: number): Promise<Row> {
  const hanging = Number(options.hanging)
  const { body, ofOne } = await fill(db, port, webhooks, hanging)
  const plain = await plainPosts(port, body, readReport)
  const loopback = parseNetworks('127.0.0.0/8')
  const wakeUps = createWakeUps()
  const safeFetch = createSafeFetch({
    clock: systemClock,
    lookup: async () => [],
    allowedNetworks: loopback.ok ? loopback.networks : [],
  })
  const expected = await countDue(db, hanging > 0)
  const stop = new AbortController()
  const log = pino({ level: 'warn' })
  const deps = { db, keyring, safeFetch, wakeUps, log, clock: systemClock, loopHealth: new LoopHealth(), process: 1 }
  const loop = runDispatcher(deps, { stop: stop.signal, abandon: stop.signal }, LIMITS)
  // The receiver counts, because counting the rows of the queue would be a part of what is measured.
  let received = 0
  while (received < expected * WARM_UP_SHARE) {
    await systemClock.sleep(20)
    received += (await readReport()).received
  }
  const measured = expected - received
  const effort = startEffort()
  while (await hasDue(db, hanging > 0)) await systemClock.sleep(20)
  const steady = effort(measured)
  received += (await readReport()).received
  if (received !== expected) throw new Error(`${received} of ${expected} requests arrived`)

  const times = await timed(db, () => wakeUps.requests.send(), ofOne, readReport)
  stop.abort()
  await loop
  await safeFetch.close()
  return {
    bench: 'webhooks',
    engine,
    webhooks,
    hanging,
    delivered_per_second: steady.perSecond,
    undici_per_second: plain.perSecond,
    share: Math.round((steady.perSecond / plain.perSecond) * 100) / 100,
    cpu_s_per_1000: steady.cpu,
    undici_cpu_s_per_1000: plain.cpu,
    arrival_p50_ms: at(times, 0.5),
    arrival_p99_ms: at(times, 0.99),
  }
}

const at = (sorted: number[], share: number) => sorted[Math.floor(sorted.length * share)] ?? -1

/** From now on: what so many requests came to, in requests per second and CPU seconds per 1,000. */
function startEffort() {
  const cpu = process.cpuUsage()
  const startedAt = systemClock.elapsed()
  return (requests: number) => {
    const { user, system } = process.cpuUsage(cpu)
    const seconds = (systemClock.elapsed() - startedAt) / 1_000
    return { perSecond: Math.round(requests / seconds), cpu: Math.round((user + system) / requests) / 1e3 }
  }
}

/** Webhooks on one group of each organization and one more on a group of its own, and requests for the first ones, all due. */
async function fill(db: Database, port: number, webhooks: number, hanging: number) {
  const tenants: ReportedTenant[] = []
  for (let count = Number(options.organizations); count > 0; count--) {
    const given = { name: `Bench ${count}`, email: 'bench@example.com', passwordHash: '' }
    const { id: organizationId } = await insertOrganization(db, given, systemClock.now())
    const groups = db.selectFrom('groups').select('id').where('organization_id', '=', organizationId)
    tenants.push({ organizationId, groupId: (await groups.executeTakeFirstOrThrow()).id })
  }
  await db.transaction().execute(async (transaction) => {
    for (let index = 0; index < webhooks; index++) {
      const path = hanging > 0 && index % hanging === 0 ? '/hang' : '/hook'
      const url = `http://127.0.0.1:${port}${path}/${index}`
      const { organizationId, groupId } = tenants[index % tenants.length]!
      const context = systemContext(organizationId, systemClock.now())
      await insertWebhook(transaction, keyring, context, { url, groups: [groupId] })
    }
  })
  const events = Math.ceil(Number(options.requests) / webhooks)
  const AT_ONCE = Math.max(1, Math.floor((1_000 * tenants.length) / webhooks))
  for (let made = 0; made < events; made += AT_ONCE) {
    for (const { organizationId, groupId } of tenants) {
      const some = Array.from({ length: Math.min(AT_ONCE, events - made) }, () => newEvent(organizationId, groupId))
      await db.transaction().execute((transaction) => insertRequests(transaction, some, systemClock.now()))
    }
  }
  const { organizationId } = tenants[0]!
  for (const turn = { after: '' }; (await fanOut(db, turn, systemClock.now())) !== undefined; ) {}
  const first = db
    .selectFrom('webhook_requests')
    .select(['organization_id', 'body', 'event_offset', 'event_id'])
    .limit(1)
  const body = await readBody(db, await first.executeTakeFirstOrThrow())
  const id = await insertGroup(db, systemContext(organizationId, systemClock.now()), { name: 'Timed' })
  const url = `http://127.0.0.1:${port}/timed`
  await insertWebhook(db, keyring, systemContext(organizationId, systemClock.now()), { url, groups: [id] })
  return { body, ofOne: () => newEvent(organizationId, id) }
}

type ReportedTenant = Pick<ReportedEvent, 'organizationId' | 'groupId'>

let events = 0

function newEvent(organizationId: string, groupId: string): ReportedEvent {
  const id = `evt_${String(++events).padStart(26, '0')}`
  return {
    organizationId,
    groupId,
    event: {
      id,
      monitor_id: 'mon_01jd0pxw2b4d6f8h0k2n4q6s8u',
      occurred: new Date(systemClock.now()).toISOString(),
      previous_value: ['192.0.2.1'],
      current_value: ['192.0.2.99'],
      old_state: 'VALID',
      new_state: 'MISMATCH',
      incidence_count: 1,
      domain: {
        domain: 'example.com',
        subdomain: 'www',
        record_type: 'A',
        expected_value: ['192.0.2.1'],
        is_exact_match: true,
      },
    },
  }
}

async function countDue(db: Database, withoutHanging: boolean): Promise<number> {
  const rows = dueRequests(db, withoutHanging).select((of) => of.fn.countAll<number>().as('count'))
  return (await rows.executeTakeFirstOrThrow()).count
}

async function hasDue(db: Database, withoutHanging: boolean): Promise<boolean> {
  return (await dueRequests(db, withoutHanging).select('request_id').limit(1).execute()).length > 0
}

function dueRequests(db: Database, withoutHanging: boolean) {
  const rows = db.selectFrom('due_requests')
  if (!withoutHanging) return rows
  const answering = db.selectFrom('webhooks').select('id').where('url', 'like', '%/hook/%')
  return rows.where('webhook_id', 'in', answering)
}

/** The floor: the same octets, headers included, to the same receiver by undici alone: no database, and one signature for all. */
async function plainPosts(
  port: number,
  body: Buffer,
  readReport: () => Promise<Report>,
): Promise<{ perSecond: number; cpu: number }> {
  const agent = new Agent({ connections: PLAIN_CONNECTIONS })
  const sentAt = systemClock.now()
  const signature = signatureHeaders({ requestId: newId('req', sentAt), body, secret: newWebhookSecret(), sentAt })
  const headers = {
    'content-type': 'application/json',
    'accept-encoding': 'identity',
    'user-agent': 'Zonewatch/0.0.0',
    ...signature,
  }
  const total = Number(options.requests)
  const measured = Math.floor(total * (1 - WARM_UP_SHARE))
  let left = total
  let effort = startEffort()
  const post = async () => {
    while (left-- > 0) {
      if (left === measured) effort = startEffort()
      const origin = `http://127.0.0.1:${port}`
      const { body: answer } = await agent.request({ origin, path: '/hook', method: 'POST', headers, body })
      await answer.dump()
    }
  }
  await Promise.all(Array.from({ length: PLAIN_CONNECTIONS }, post))
  const steady = effort(measured)
  await agent.close()
  await readReport()
  return steady
}

/** Events one at a time while nothing else is to be done. Sorted milliseconds. */
async function timed(db: Database, ring: () => void, event: () => ReportedEvent, readReport: () => Promise<Report>) {
  for (let count = 0; count < TIMED; count++) {
    await db.transaction().execute((transaction) => insertRequests(transaction, [event()], systemClock.now()))
    ring()
    await systemClock.sleep(50)
  }
  await systemClock.sleep(300)
  const { latencies } = await readReport()
  return latencies.toSorted((one, other) => one - other)
}

await main()
