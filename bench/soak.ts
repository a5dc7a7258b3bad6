import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../server/clock.ts'
import type { Database } from '../server/database/database.ts'
import type { Engine } from '../server/database/engine.ts'
import { migrate } from '../server/database/migrate.ts'
import { openDatabase } from '../server/database/open.ts'
import { startPostgres } from '../server/testing/postgres.ts'
import { type ServerProcess, type Settings, startServer } from '../server/testing/server-process.ts'
import { fill, startResponder } from './checks-setup.ts'
import { readOptions } from './options.ts'
import { type Expectations, findFaults, newExpectations, randomFrom } from './soak-expectations.ts'
import { planRound, roundIsOver } from './soak-rounds.ts'

const { values: options } = readOptions({
  options: {
    json: { type: 'boolean', default: false },
    engine: { type: 'string', default: 'sqlite' },
    monitors: { type: 'string', default: '50000' },
    minutes: { type: 'string', default: '5' },
    /** Checks per second. */
    rate: { type: 'string', default: '2000' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 32) },
  },
})

/** The share of queries that are lost during a fault, and of names that change in a round. */
const LOST = 0.05
const CHANGED = 0.01

type Soak = {
  db: Database
  settings: Settings
  expectations: Expectations
  order: Awaited<ReturnType<typeof startResponder>>['order']
}

async function main() {
  const engine = options.engine as Engine
  const folder = await mkdtemp(join(tmpdir(), 'zonewatch-soak-'))
  const postgres = engine === 'postgres' ? await startPostgres() : undefined
  const url = postgres ? `${postgres.url}/postgres` : `sqlite:${join(folder, 'soak.db')}`
  const { responder, port, order } = await startResponder()
  const db = openDatabase(url)
  const settings = {
    DATA_DIR: folder,
    DATABASE_URL: url,
    SECRET: 'a secret of the benchmark, longer than 32 characters',
    DNS_SERVERS: `127.0.0.1:${port}`,
    DNS_ROOTS: 'off',
    DNS_CANARIES: 'off',
    DNS_PER_SECOND: '1000000',
    ROLES: 'checker',
    WORKERS: '1',
    LOG_LEVEL: 'info',
  }
  try {
    await migrate(db, systemClock.now())
    await fill(db, Number(options.monitors))
    const random = randomFrom(Number(options.seed))
    const figures = await soak(
      { db, settings, expectations: newExpectations(Number(options.monitors), random), order },
      random,
    )
    const row = { bench: 'soak', engine, monitors: Number(options.monitors), seed: Number(options.seed), ...figures }
    if (options.json) console.log(JSON.stringify(row))
    else console.table(row)
    if (figures.missed + figures.double + figures.wrong > 0) process.exitCode = 1
  } finally {
    responder.disconnect()
    await db.destroy()
    await postgres?.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** In each round some names change, all are checked, and the recorded states are compared with the DNS. */
async function soak({ db, settings, expectations, order }: Soak, random: () => number) {
  const end = systemClock.elapsed() + Number(options.minutes) * 60_000
  const roundMs = (Number(options.monitors) / Number(options.rate)) * 1_000
  const faults = { missed: 0, double: 0, wrong: 0 }
  let [rounds, changes, kills, slowest] = [0, 0, 0, 0]
  let memory: number | undefined
  let server = await startServer(settings)
  while (rounds < 3 || systemClock.elapsed() < end) {
    const isFaulty = random() < 0.5
    // No kills in the last 40 % of the time, so that the memory is comparable.
    const isKilled = rounds > 0 && systemClock.elapsed() < end - 0.4 * Number(options.minutes) * 60_000
    const changed = expectations.change(CHANGED)
    await order({ kind: 'set', records: changed })
    await order({ kind: 'lose', share: isFaulty ? LOST : 0 })
    const { since } = await planRound(db, roundMs)
    const startedAt = systemClock.elapsed()
    if (isKilled) {
      await systemClock.sleep(random() * roundMs)
      server = await killedAndBack(server, settings)
      kills++
    }
    await roundIsOver(db, since, () => server.ended)
    slowest = Math.max(slowest, systemClock.elapsed() - startedAt - roundMs)
    const found = await findFaults(db, expectations)
    for (const kind of ['missed', 'double', 'wrong'] as const) faults[kind] = Math.max(faults[kind], found[kind])
    memory = isKilled || memory === undefined ? await rssOf(server.pid) : memory
    rounds++
    changes += changed.length
    if (!options.json) console.log({ round: rounds, changes: changed.length, isFaulty, isKilled, ...found })
  }
  const rss_mb_end = await rssOf(server.pid)
  await server.kill()
  const checks = rounds * Number(options.monitors)
  const slowest_s = Math.round(slowest / 100) / 10
  return { rounds, checks, changes, kills, ...faults, slowest_s, rss_mb_begin: memory, rss_mb_end }
}

async function killedAndBack(server: ServerProcess, settings: Settings): Promise<ServerProcess> {
  await server.kill()
  return await startServer(settings)
}

/** The memory of the worker process, the only child of the supervisor. */
async function rssOf(supervisor: number): Promise<number> {
  const [pid] = (await readFile(`/proc/${supervisor}/task/${supervisor}/children`, 'utf8')).split(' ')
  const [, kilobytes] = (await readFile(`/proc/${pid}/status`, 'utf8')).match(/VmRSS:\s+(\d+)/) ?? []
  return Math.round(Number(kilobytes) / 1024)
}

await main()
