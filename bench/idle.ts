import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../server/clock.ts'
import type { Engine } from '../server/database/engine.ts'
import { startPostgres } from '../server/testing/postgres.ts'
import { type ServerProcess, startServer } from '../server/testing/server-process.ts'
import { cpuOf } from './cpu.ts'
import { readOptions } from './options.ts'

/** The start of a server with one worker and no monitors, and the CPU time and memory of its idle processes. Needs Linux. */
const { values: options } = readOptions({
  options: {
    json: { type: 'boolean', default: false },
    engine: { type: 'string', default: 'sqlite,postgres' },
    seconds: { type: 'string', default: '30' },
  },
})

/** `ready_ms`: of the second start, with Node's compile cache. `memory_mb`: PSS by process and in total. */
type Row = {
  bench: 'idle'
  engine: Engine
  ready_ms: number
  supervisor_mb: number
  api_mb: number
  worker_mb: number
  memory_mb: number
  cpu_ms_per_second: number
}

async function main(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'zonewatch-bench-'))
  // A copy of node, because pages that other processes share would count less.
  const node = join(folder, 'node')
  await copyFile(process.execPath, node)
  try {
    for (const engine of options.engine.split(',') as Engine[]) {
      const row = await measure(engine, node, folder)
      console.log(options.json ? JSON.stringify(row) : row)
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function measure(engine: Engine, node: string, folder: string): Promise<Row> {
  const postgres = engine === 'postgres' ? await startPostgres() : undefined
  const database = postgres ? { DATABASE_URL: `${postgres.url}/postgres`, SECRET: 'x'.repeat(32) } : {}
  const settings = { DATA_DIR: join(folder, engine), WORKERS: '1', ...database }
  const command = [node, 'bin/zonewatch.js', 'serve']
  try {
    const first = await startServer(settings, { command })
    // Node writes its compile cache when it ends.
    first.send('SIGTERM')
    await first.ended
    const server = await startServer(settings, { command })
    try {
      return { bench: 'idle', engine, ready_ms: Math.round(server.startMs), ...(await costsOf(server)) }
    } finally {
      await server.kill()
    }
  } finally {
    await postgres?.stop()
  }
}

async function costsOf({ pid }: ServerProcess) {
  const seconds = Number(options.seconds)
  await systemClock.sleep(15_000)
  const pids = [pid, ...(await childrenOf(pid))]
  const cpu = async () => (await Promise.all(pids.map(cpuOf))).reduce((sum, value) => sum + value, 0)
  const before = await cpu()
  await systemClock.sleep(seconds * 1_000)
  const after = await cpu()
  const [supervisor_mb = 0, api_mb = 0, worker_mb = 0] = await Promise.all(pids.map(pssOf))
  const memory_mb = supervisor_mb + api_mb + worker_mb
  const cpu_ms_per_second = Math.round(((after - before) * 10_000) / seconds) / 10
  return { supervisor_mb, api_mb, worker_mb, memory_mb, cpu_ms_per_second }
}

async function childrenOf(pid: number): Promise<number[]> {
  return (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ').map(Number)
}

/** The PSS of a process in megabytes: shared pages are divided among the processes. */
async function pssOf(pid: number): Promise<number> {
  const [, kilobytes] = (await readFile(`/proc/${pid}/smaps_rollup`, 'utf8')).match(/^Pss:\s+(\d+)/m) ?? []
  return Math.round(Number(kilobytes) / 1024)
}

await main()
