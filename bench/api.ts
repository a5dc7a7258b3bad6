import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import autocannon from 'autocannon'
import { systemClock } from '../server/clock.ts'
import type { Engine } from '../server/database/engine.ts'
import { migrate } from '../server/database/migrate.ts'
import { openDatabase } from '../server/database/open.ts'
import { startPostgres } from '../server/testing/postgres.ts'
import { fill, monitorBody } from './api-data.ts'
import { readOptions } from './options.ts'

const { values: options } = readOptions({
  options: {
    json: { type: 'boolean', default: false },
    engine: { type: 'string', default: 'sqlite' },
    monitors: { type: 'string', default: '1000,1000000' },
    seconds: { type: 'string', default: '5' },
    /** How often all cases run, one after the other. */
    rounds: { type: 'string', default: '1' },
    /** Only the cases whose names contain this. */
    only: { type: 'string', default: '' },
  },
})

type Row = {
  bench: 'api'
  engine: Engine
  monitors: number
  case: string
  requests_per_second: number
  p99_ms: number
  /** CPU milliseconds of the server for each request, which are comparable on a busy machine. */
  cpu_ms: number
  monitors_per_second?: number
}

const SECRET = 'a secret of the benchmark, longer than 32 characters'
const CONNECTIONS = 10
const BULK_SIZE = 1_000
const BULK_CASE = 'create 1000 at once'
/** The number of monitors before the deep page: page 10,000 with 20 each. */
const DEEP_OFFSET = 200_000

async function main() {
  const engine = options.engine as Engine
  const postgres = engine === 'postgres' ? await startPostgres() : undefined
  const rows: Row[] = []
  try {
    for (const [index, count] of options.monitors.split(',').map(Number).entries()) {
      const name = `bench_${index}`
      await withDatabase(postgres?.url, name, async (url) => {
        for await (const row of measure(engine, url, count)) {
          rows.push(row)
          if (options.json) console.log(JSON.stringify(row))
        }
      })
    }
  } finally {
    await postgres?.stop()
  }
  if (!options.json) console.table(rows)
}

async function withDatabase(server: string | undefined, name: string, work: (url: string) => Promise<void>) {
  if (server === undefined) {
    const folder = await mkdtemp(join(tmpdir(), 'zonewatch-bench-'))
    await work(`sqlite:${join(folder, 'bench.db')}`).finally(() => rm(folder, { recursive: true, force: true }))
    return
  }
  const admin = openDatabase(`${server}/postgres`, { connections: 1 })
  await admin.executeQuery({ ...admin.schema.createSchema('x').compile(), sql: `create database ${name}` })
  await admin.destroy()
  await work(`${server}/${name}`)
}

async function* measure(engine: Engine, url: string, count: number): AsyncGenerator<Row> {
  const db = openDatabase(url)
  await migrate(db, systemClock.now())
  const key = await fill(db, count, systemClock.now())
  await db.destroy()
  const limits = { READ_LIMIT: '0', WRITE_LIMIT: '0', CREATE_LIMIT: '0' }
  const server = fork(new URL('./api-server.ts', import.meta.url), {
    env: {
      ...process.env,
      DATA_DIR: tmpdir(),
      DATABASE_URL: url,
      SECRET,
      DNS_SERVERS: '127.0.0.1:1',
      DNS_ROOTS: 'off',
      DNS_CANARIES: 'off',
      ...limits,
    },
  })
  const ended = once(server, 'exit')
  try {
    const [{ url: address }] = (await once(server, 'message')) as [{ url: string }]
    const headers = { 'x-api-key': key, 'content-type': 'application/json' }
    const cpu = async () => {
      server.send('cpu')
      const [received] = (await once(server, 'message')) as [{ cpu: number }]
      return received.cpu
    }
    const get = async (path: string) => await (await fetch(address + path, { headers })).text()
    const run = async (name: string, path: string, overrides: Partial<autocannon.Options> = {}): Promise<Row> => {
      const request = {
        url: address + path,
        headers,
        connections: CONNECTIONS,
        duration: Number(options.seconds),
        ...overrides,
      }
      const cpuBefore = await cpu()
      const { requests, latency, non2xx, errors } = await autocannon(request)
      if (non2xx + errors > 0) throw new Error(`${name}: ${non2xx} refused, ${errors} failed`)
      const cpu_ms = Math.round((((await cpu()) - cpuBefore) * 1e6) / requests.total) / 1e3
      const figures = { requests_per_second: Math.round(requests.average), p99_ms: latency.p99, cpu_ms }
      return { bench: 'api', engine, monitors: count, case: name, ...figures }
    }
    const first = await get('/monitors')
    const monitorId = JSON.parse(first).data[0].id
    const deep = await deepCursor(get, Math.min(DEEP_OFFSET, count - 100))
    const cases = casesOf(count, { bytes: first.length, deep, monitorId })
    for (let round = 0; round < Number(options.rounds); round++) {
      for (const { name, path, more } of cases.filter(({ name }) => name.includes(options.only))) {
        // The first request of a case reads pages from disk.
        if (more?.method === undefined) await get(path)
        const row = await run(name, path, more)
        yield name === BULK_CASE ? { ...row, monitors_per_second: row.requests_per_second * BULK_SIZE } : row
      }
    }
  } finally {
    server.disconnect()
    await ended
  }
}

type Case = { name: string; path: string; more?: Partial<autocannon.Options> }

/** One request at a time, so that the p99 is the time of one. */
const SEARCHES: Case[] = Object.entries({
  'search: a few have it': '/monitors?search=customer-4711',
  'search: 1 in 40 has it': '/monitors?search=team-13',
  'search: 1 in 90 has it, by domain': '/monitors?search=shop-77&order_by=domain',
  'search: all have it, by domain': '/monitors?search=example&order_by=domain',
  'search: none has it': '/monitors?search=none.example&order_by=domain',
  'search: a value': '/monitors?search=192.0.2.249&order_by=domain',
  'search: two letters, by domain': '/monitors?search=sh&order_by=domain',
  'search, state and group': '/monitors?search=team-13&state=MISMATCH,TIMEOUT&group=group-53&order_by=domain',
  'by tag': '/monitors?tag=team-13',
  'by tag and states, by domain': '/monitors?tag=team-13&state=MISMATCH,TIMEOUT&order_by=domain',
  'counts of all': '/monitors/counts',
  'counts of a group': '/monitors/counts?group=group-7',
  'counts of a search, few': '/monitors/counts?search=customer-4711',
  'counts of a search, many': '/monitors/counts?search=example',
  'counts of a tag and a state': '/monitors/counts?tag=team-13&state=MISMATCH',
  'groups with counts': '/groups?include=counts&limit=100',
  'groups: search': '/groups?search=roup-7&include=counts',
}).map(([name, path]) => ({ name, path, more: { connections: 1 } }))

/** `bytes` is the size of the first page and of the constant responses. */
function casesOf(
  count: number,
  { bytes, deep, monitorId }: { bytes: number; deep: string; monitorId: string },
): Case[] {
  const single = Array.from({ length: 1_000 }, (_, index) => JSON.stringify(monitorBody(count + index)))
  const bulk = Array.from({ length: 50 }, (_, index) =>
    JSON.stringify({
      monitors: Array.from({ length: BULK_SIZE }, (_, number) => monitorBody(count + index * BULK_SIZE + number)),
    }),
  )
  return [
    { name: 'constant without key', path: `/constant-without-key/${bytes}` },
    { name: 'constant', path: `/constant/${bytes}` },
    { name: 'first page', path: '/monitors' },
    { name: 'deep page', path: `/monitors?after=${deep}` },
    { name: 'by state', path: '/monitors?state=MISMATCH' },
    { name: 'by group', path: '/monitors?group=group-7' },
    { name: 'by state and group', path: '/monitors?state=MISMATCH&group=group-7' },
    { name: 'by a state that none has', path: '/monitors?state=TIMEOUT' },
    { name: 'ordered by domain', path: '/monitors?order_by=domain' },
    { name: 'ordered by changes', path: '/monitors?order_by=incidence_count&order_way=desc' },
    ...SEARCHES,
    { name: 'one monitor', path: `/monitors/${monitorId}` },
    { name: 'create one', path: '/monitors', more: sending(single) },
    { name: BULK_CASE, path: '/monitors/bulk', more: { ...sending(bulk), connections: 2 } },
  ]
}

function sending(bodies: string[]): Partial<autocannon.Options> {
  return { method: 'POST', requests: bodies.map((body) => ({ body })) }
}

/** The cursor after `depth` monitors, in steps of the largest page. */
async function deepCursor(get: (path: string) => Promise<string>, depth: number): Promise<string> {
  let after = ''
  for (let passed = 0; passed < depth; passed += 100) {
    after = JSON.parse(await get(`/monitors?limit=100${after === '' ? '' : `&after=${after}`}`)).after
  }
  return after
}

await main()
