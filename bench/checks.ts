import { fork } from 'node:child_process'
import { once } from 'node:events'
import { runQueuedChecks } from '../server/checks/queued-checks.ts'
import { runRounds } from '../server/checks/rounds.ts'
import type { Engine } from '../server/database/engine.ts'
import { blackbox } from './blackbox.ts'
import { nameOf, type Setup, withSetup } from './checks-setup.ts'
import { measureLateness, measureThroughput, scheduleAll, type Watched, watch } from './checks-workloads.ts'
import { dnsperfPerSecond, plainUdp } from './dnsperf.ts'
import { readOptions } from './options.ts'

const { values: options } = readOptions({
  options: {
    json: { type: 'boolean', default: false },
    engine: { type: 'string', default: 'sqlite' },
    monitors: { type: 'string', default: '1000,100000,1000000' },
    seconds: { type: 'string', default: '15' },
    /** Measures only the throughput, without schedule, unresponsive names and API. */
    quick: { type: 'boolean', default: false },
  },
})

/** `…_silent`: of the other monitors while a quarter of the names is unresponsive. `…_busy`: while all checks are overdue. */
type Row = {
  bench: 'checks'
  engine: Engine
  monitors: number
  checks_per_second: number
  dnsperf_per_second: number | null
  cpu_s_per_1000: number
  dns_cpu_s_per_1000: number
  udp_per_second: number
  udp_cpu_s_per_1000: number
  blackbox_per_second: number | null
  blackbox_cpu_s_per_1000: number | null
  /** Null with SQLite, which runs in this process. */
  db_cpu_s_per_1000: number | null
} & Partial<Awaited<ReturnType<typeof measureLateness>>> & {
    late_p99_ms_silent?: number
    api_p99_ms?: number | null
    api_p99_ms_busy?: number | null
  }

async function main() {
  const rows: Row[] = []
  for (const count of options.monitors.split(',').map(Number)) {
    rows.push(await withSetup(options.engine as Engine, count, measure))
    if (options.json) console.log(JSON.stringify(rows.at(-1)))
  }
  if (!options.json) for (const row of rows) console.table(row)
  if (rows.some((row) => row.dnsperf_per_second === null || row.blackbox_per_second === null)) {
    console.error(
      'For all comparisons install dnsperf and blackbox_exporter (Debian: dnsperf, prometheus-blackbox-exporter).',
    )
  }
}

async function measure(setup: Setup): Promise<Row> {
  const { deps, slots, port, folder } = setup
  const seconds = Number(options.seconds)
  const watched = watch(deps.dns, slots)
  const stop = new AbortController()
  const signals = { stop: stop.signal, abandon: stop.signal }
  const used = { ...deps, dns: watched.dns, process: 1 }
  const scheduler = Promise.all([runQueuedChecks(used, signals), runRounds(used, signals)])
  const throughput = await measureThroughput(setup, watched, seconds)
  const names = slots.slice(0, 10_000).map((_, number) => nameOf(number))
  const dnsperf_per_second = await dnsperfPerSecond(port, names, Math.min(seconds, 5), folder)
  const plain = await plainUdp(port, names, Math.min(seconds, 5))
  const probes = await blackbox(port, names[0]!, Math.min(seconds, 5), folder)
  const schedule = options.quick ? {} : await measureSchedule(setup, watched, seconds)
  stop.abort()
  await deps.dns.close() // aborts the checks in progress
  await scheduler
  const { checks_per_second, ...costs } = throughput
  const engine = options.engine as Engine
  const comparisons = {
    dnsperf_per_second,
    ...plain,
    blackbox_per_second: probes?.per_second ?? null,
    blackbox_cpu_s_per_1000: probes?.cpu_s_per_1000 ?? null,
  }
  return { bench: 'checks', engine, monitors: slots.length, checks_per_second, ...comparisons, ...costs, ...schedule }
}

async function measureSchedule(setup: Setup, watched: Watched, seconds: number) {
  const { deps, order } = setup
  const api = measureApi(setup)
  await measureThroughput(setup, watched, seconds)
  const api_p99_ms_busy = await api.p99()
  await scheduleAll(deps.db)
  await api.p99()
  const steady = await measureLateness(watched, seconds)
  const api_p99_ms = await api.p99()
  api.end()
  await order({ kind: 'silence' })
  const silent = await measureLateness(watched, 2 * seconds, (number) => number % 4 !== 0)
  return { ...steady, late_p99_ms_silent: silent.late_p99_ms, api_p99_ms, api_p99_ms_busy }
}

function measureApi({ url, key }: Setup) {
  const latencyProcess = fork(new URL('./api-latency.ts', import.meta.url), [JSON.stringify({ url, key })])
  return {
    p99: async () => {
      latencyProcess.send('report')
      const [{ p99 }] = (await once(latencyProcess, 'message')) as [{ p99: number | null }]
      return p99 === null ? null : Math.round(p99 * 10) / 10
    },
    end: () => latencyProcess.disconnect(),
  }
}

await main()
