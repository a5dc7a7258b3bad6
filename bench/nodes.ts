import { type ChildProcess, fork } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { systemClock } from '../server/clock.ts'
import type { Database } from '../server/database/database.ts'
import { engineOf } from '../server/database/engine.ts'
import { migrate } from '../server/database/migrate.ts'
import { openDatabase } from '../server/database/open.ts'
import { claimDue } from '../server/queue/lease-queue.ts'
import { startPostgres } from '../server/testing/postgres.ts'
import { planRounds, stopRounds } from './check-rounds.ts'
import { fill, nameOf, startCheckpointer, startResponder } from './checks-setup.ts'
import { cpuOf, databaseCpu } from './cpu.ts'
import { dnsperfPerSecond } from './dnsperf.ts'
import { readOptions } from './options.ts'

/** 1, 2 and 4 worker processes that share one database, PostgreSQL by default, work off the same overdue checks. */
const { values: options } = readOptions({
  options: {
    json: { type: 'boolean', default: false },
    engine: { type: 'string', default: 'postgres' },
    monitors: { type: 'string', default: '50000' },
    processes: { type: 'string', default: '1,2,4' },
    /** The number of rounds. The median is printed. */
    rounds: { type: 'string', default: '3' },
    /** The time limit of a run in seconds. */
    seconds: { type: 'string', default: '20' },
  },
})

/** CPU in seconds. */
type Run = {
  processes: number
  checks: number
  seconds: number
  databaseS: number
  walBytes: number
  clientS: number
  dnsS: number
}

async function main(): Promise<void> {
  const counts = options.processes.split(',').map(Number)
  const folder = await mkdtemp(join(tmpdir(), 'zonewatch-bench-'))
  const postgres = options.engine === 'postgres' ? await startPostgres([['max_wal_size', '4GB']]) : undefined
  const { port, order, responder } = await startResponder()
  const url = postgres ? `${postgres.url}/postgres` : `sqlite:${join(folder, 'bench.db')}`
  const db = openDatabase(url, { timeoutMs: 0 })
  let checkpointer: ChildProcess | undefined
  try {
    await migrate(db, systemClock.now())
    checkpointer = startCheckpointer(url)
    await fill(db, Number(options.monitors))
    if (postgres) await sql`vacuum analyze`.execute(db)
    const runs: Run[] = []
    for (let round = 0; round < Number(options.rounds); round++) {
      for (const count of counts) {
        runs.push(await measureRun(db, { url, port, count, dnsCpu: async () => (await order({ kind: 'cpu' })).cpu }))
      }
    }
    const names = Array.from({ length: 10_000 }, (_, number) => nameOf(number))
    const dnsperf = await dnsperfPerSecond(port, names, 5, folder)
    print(
      counts.map((count) => medianOf(runs.filter(({ processes }) => processes === count))),
      dnsperf,
    )
    if (postgres) console.error(`A claim that finds nothing: ${await cpuOfIdleClaim(db)} µs of the database.`)
  } finally {
    responder.disconnect()
    checkpointer?.disconnect()
    await db.destroy()
    await postgres?.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

type RunInput = { url: string; port: number; count: number; dnsCpu: () => Promise<number> }

async function measureRun(db: Database, { url, port, count, dnsCpu }: RunInput): Promise<Run> {
  await unscheduleAll(db)
  const workers = await Promise.all(Array.from({ length: count }, (_, index) => startWorker(url, port, index + 1)))
  const cpu = async () => ({
    database: (await databaseCpu(db)) ?? 0,
    wal: await walBytes(db),
    client: (await Promise.all(workers.map(({ pid }) => cpuOf(pid!)))).reduce((sum, each) => sum + each, 0),
    dns: await dnsCpu(),
  })
  // In schedule order, as after a downtime of one interval.
  const monitors = await planRounds(db, 'last')
  const [before, start] = [await cpu(), systemClock.elapsed()]
  const until = start + Number(options.seconds) * 1_000
  const checked = () => workers.reduce((sum, worker) => sum + (answers.get(worker) ?? 0), 0)
  while (checked() < monitors && systemClock.elapsed() < until) await systemClock.sleep(20)
  const [checks, seconds, after] = [checked(), (systemClock.elapsed() - start) / 1_000, await cpu()]
  await Promise.all(workers.map(stopWorker))
  return {
    ...{ processes: count, checks, seconds },
    ...{
      databaseS: after.database - before.database,
      walBytes: after.wal - before.wal,
      clientS: after.client - before.client,
      dnsS: after.dns - before.dns,
    },
  }
}

/** The number of answered queries of each worker. */
const answers = new WeakMap<ChildProcess, number>()

async function startWorker(url: string, port: number, number: number): Promise<ChildProcess> {
  const worker = fork(new URL('./nodes-worker.ts', import.meta.url), [url, String(port), String(number)])
  await new Promise<void>((resolve, reject) => {
    worker.once('message', () => resolve())
    worker.on('message', (count) => answers.set(worker, Number(count)))
    worker.once('exit', () => reject(new Error('a worker ended before it was ready')))
  })
  return worker
}

async function stopWorker(worker: ChildProcess): Promise<void> {
  const exited = new Promise((resolve) => worker.once('exit', resolve))
  worker.disconnect()
  await exited
}

async function unscheduleAll(db: Database): Promise<void> {
  await stopRounds(db)
  if (engineOf(db) === 'postgres') await sql`vacuum due_rounds`.execute(db)
}

/** The bytes written to the WAL of PostgreSQL so far. */
async function walBytes(db: Database): Promise<number> {
  if (engineOf(db) === 'sqlite') return 0
  const { rows } = await sql<{ bytes: number }>`
    select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint as bytes`.execute(db)
  return rows[0]!.bytes
}

const IDLE_CLAIMS = 3_000

async function cpuOfIdleClaim(db: Database): Promise<number> {
  await unscheduleAll(db)
  const before = (await databaseCpu(db)) ?? 0
  for (let count = 0; count < IDLE_CLAIMS; count++) {
    await claimDue(db, 'due_checks', { now: systemClock.now(), process: 1, limit: 500 })
  }
  return Math.round(((((await databaseCpu(db)) ?? 0) - before) * 1e6) / IDLE_CLAIMS)
}

/** The run with the median number of checks per second. */
function medianOf(runs: Run[]): Run {
  const rateOf = ({ checks, seconds }: Run) => checks / seconds
  return runs.toSorted((one, other) => rateOf(one) - rateOf(other))[runs.length >> 1]!
}

/** With SQLite, which runs in the workers, the database columns are null. */
function print(runs: Run[], dnsperf: number | null): void {
  const isApart = options.engine === 'postgres'
  const rows = runs.map(({ processes, checks, seconds, databaseS, walBytes, clientS, dnsS }) => ({
    bench: 'nodes',
    processes,
    checks_per_second: Math.round(checks / seconds),
    of_dnsperf: dnsperf && round(checks / seconds / dnsperf),
    db_cpu_us_per_check: isApart ? Math.round((databaseS / checks) * 1e7) / 10 : null,
    client_cpu_us_per_check: Math.round((clientS / checks) * 1e6),
    wal_octets_per_check: isApart ? Math.round(walBytes / checks) : null,
    db_cores: isApart ? round(databaseS / seconds) : null,
    cores_in_use: round((databaseS + clientS + dnsS) / seconds),
    /** The checks that one core of the primary could serve. */
    checks_per_second_per_db_core: isApart ? Math.round(checks / databaseS) : null,
  }))
  if (options.json) for (const row of rows) console.log(JSON.stringify(row))
  else console.table(rows)
  console.error(bendOf(rows))
}

const round = (value: number) => Number(value.toFixed(2))

/** The first step that gains less than half of what the added processes should. */
function bendOf(rows: { processes: number; checks_per_second: number; cores_in_use: number }[]): string {
  const cores = availableParallelism()
  for (const [index, row] of rows.entries()) {
    const before = rows[index - 1]
    if (!before) continue
    const gain = row.checks_per_second / before.checks_per_second - 1
    const promised = row.processes / before.processes - 1
    if (gain >= promised / 2) continue
    const share = `${before.cores_in_use} of ${cores} cores in use there, the name server of the benchmark included`
    const change = `${Math.abs(Math.round(gain * 100))} % ${gain < 0 ? 'less' : 'more'}`
    return `The curve bends at ${before.processes} of these processes: ${row.processes} do ${change}. ${share}.`
  }
  return `No bend up to ${rows.at(-1)!.processes} processes on ${cores} cores.`
}

await main()
