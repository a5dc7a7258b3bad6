import { fork } from 'node:child_process'
import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { runCheckWorker } from '../server/checks/worker.ts'
import type { Engine } from '../server/database/database.ts'
import { blackbox } from './blackbox.ts'
import { nameOf, type Setup, withSetup } from './checks-setup.ts'
import { flatOut, onSchedule, planAll, type Watched, watch } from './checks-workloads.ts'
import { dnsperfPerSecond, plainUdp } from './dnsperf.ts'

const { values: options } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    engine: { type: 'string', default: 'sqlite' },
    monitors: { type: 'string', default: '1000,100000,1000000' },
    seconds: { type: 'string', default: '15' },
    /** Only how much can be done: without schedule, silent names and API. */
    quick: { type: 'boolean', default: false },
  },
})

/** `…_silent`: of the monitors whose names answer, while a quarter of all names is silent. `…_busy`: while all is overdue. */
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
  /** Null where the database works inside of our own process. */
  db_cpu_s_per_1000: number | null
} & Partial<Awaited<ReturnType<typeof onSchedule>>> & {
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
  const scheduler = runCheckWorker({ ...deps, dns: watched.dns, process: 1 }, signals)
  const busy = await flatOut(setup, watched, seconds)
  const names = slots.slice(0, 10_000).map((_, number) => nameOf(number))
  const dnsperf_per_second = await dnsperfPerSecond(port, names, Math.min(seconds, 5), folder)
  const plain = await plainUdp(port, names, Math.min(seconds, 5))
  const probes = await blackbox(port, names[0]!, Math.min(seconds, 5), folder)
  const rest = options.quick ? {} : await asEveryDay(setup, watched, seconds)
  stop.abort()
  await deps.dns.close() // what is in progress is given up
  await scheduler
  const { checks_per_second, ...costs } = busy
  const engine = options.engine as Engine
  const beside = {
    dnsperf_per_second,
    ...plain,
    blackbox_per_second: probes?.per_second ?? null,
    blackbox_cpu_s_per_1000: probes?.cpu_s_per_1000 ?? null,
  }
  return { bench: 'checks', engine, monitors: slots.length, checks_per_second, ...beside, ...costs, ...rest }
}

async function asEveryDay(setup: Setup, watched: Watched, seconds: number) {
  const { deps, order } = setup
  const api = askApi(setup)
  await flatOut(setup, watched, seconds)
  const api_p99_ms_busy = await api.p99()
  await planAll(deps.db)
  await api.p99()
  const steady = await onSchedule(watched, seconds)
  const api_p99_ms = await api.p99()
  api.end()
  await order({ kind: 'silence' })
  const silent = await onSchedule(watched, 2 * seconds, (number) => number % 4 !== 0)
  return { ...steady, late_p99_ms_silent: silent.late_p99_ms, api_p99_ms, api_p99_ms_busy }
}

function askApi({ url, key }: Setup) {
  const asker = fork(new URL('./api-latency.ts', import.meta.url), [JSON.stringify({ url, key })])
  return {
    p99: async () => {
      asker.send('tell')
      const [{ p99 }] = (await once(asker, 'message')) as [{ p99: number | null }]
      return p99 === null ? null : Math.round(p99 * 10) / 10
    },
    end: () => asker.disconnect(),
  }
}

await main()
