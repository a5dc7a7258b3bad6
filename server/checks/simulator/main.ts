import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { shrink } from './shrink.ts'
import { type Report, simulate } from './simulate.ts'

/** The figures of many worlds together. Delays and queries are those of worlds in which a strategy can be right. */
type Figures = {
  worlds: number
  days: number
  checks: number
  events: number
  delays: number[]
  queries: Record<Kind, { queries: number; days: number }>
  undecidable: Record<string, number>
  failed: { seed: number; faults: Report['faults'] }[]
}
type Kind = 'quiet' | 'changing' | 'rotating' | 'disturbed'

const USAGE = `Runs the rules of a check against worlds drawn from seeds, in virtual time.

  npm run simulate                        10,000 worlds of ten days
  npm run simulate -- --worlds 100000     a million monitor-days
  npm run simulate -- --from 5000         another range of seeds
  npm run simulate -- --seed 42           one world, with every query and answer`

if (isMainThread) await main()
else parentPort!.postMessage(run(workerData.from, workerData.worlds))

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      worlds: { type: 'string', default: '10000' },
      from: { type: 'string', default: '1' },
      seed: { type: 'string' },
      help: { type: 'boolean' },
    },
  })
  if (values.help) {
    print(USAGE)
    return
  }
  if (values.seed !== undefined) {
    replay(Number(values.seed))
    return
  }
  const startedAt = process.hrtime.bigint()
  const threads = Math.min(availableParallelism(), 4)
  const each = Math.ceil(Number(values.worlds) / threads)
  const parts = await Promise.all(
    Array.from({ length: threads }, (_, at) => inThread(Number(values.from) + at * each, each)),
  )
  const seconds = Number(process.hrtime.bigint() - startedAt) / 1e9
  const figures = merge(parts)
  print(table(figures, seconds, threads))
  if (figures.failed.length > 0) process.exitCode = 1
}

function replay(seed: number): void {
  const report = simulate(seed, { trace: true })
  print(JSON.stringify(report.world, null, 2))
  for (const line of report.trace) print(line)
  if (report.undecidable) print(`\nNo strategy can be right here: ${report.undecidable}.`)
  for (const { kind, what } of report.faults) print(`\n${kind}: ${what}`)
  if (report.faults.length === 0) {
    print('\nNo false event and no missed change.')
    return
  }
  print(`\nThe smallest world that shows it:\n${JSON.stringify(shrink(report.world), null, 2)}`)
  process.exitCode = 1
}

function inThread(from: number, worlds: number): Promise<Figures> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), {
      workerData: { from, worlds },
      resourceLimits: { maxYoungGenerationSizeMb: 64 },
    })
    worker.once('message', resolve)
    worker.once('error', reject)
  })
}

/** `worlds` seeds from `from` on. */
function run(from: number, worlds: number): Figures {
  const figures = noFigures()
  for (let seed = from; seed < from + worlds; seed++) {
    const report = simulate(seed)
    figures.worlds += 1
    figures.days += report.world.days
    figures.checks += report.checks
    figures.events += report.events
    if (report.undecidable) figures.undecidable[report.undecidable] = (figures.undecidable[report.undecidable] ?? 0) + 1
    else figures.delays.push(...report.delays)
    const cost = figures.queries[kindOf(report)]
    cost.queries += report.queries
    cost.days += report.world.days
    if (report.faults.length > 0) figures.failed.push({ seed, faults: report.faults })
  }
  return figures
}

function kindOf({ world }: Report): Kind {
  if (world.periods.some(({ members, size }) => size < members.length)) return 'rotating'
  const isDisturbed =
    world.loss > 0 ||
    world.geo !== undefined ||
    world.outages.length + world.captive.length + world.closed.length > 0 ||
    [...world.nameServers, ...world.resolvers].some(({ status }) => status !== 'ok')
  if (isDisturbed) return 'disturbed'
  return world.periods.length > 1 ? 'changing' : 'quiet'
}

function noFigures(): Figures {
  const none = () => ({ queries: 0, days: 0 })
  const queries = { quiet: none(), changing: none(), rotating: none(), disturbed: none() }
  return { worlds: 0, days: 0, checks: 0, events: 0, delays: [], queries, undecidable: {}, failed: [] }
}

function merge(parts: readonly Figures[]): Figures {
  const all = noFigures()
  for (const part of parts) {
    all.worlds += part.worlds
    all.days += part.days
    all.checks += part.checks
    all.events += part.events
    for (const delay of part.delays) all.delays.push(delay)
    all.failed.push(...part.failed)
    for (const kind of Object.keys(all.queries) as Kind[]) {
      all.queries[kind].queries += part.queries[kind].queries
      all.queries[kind].days += part.queries[kind].days
    }
    for (const [why, count] of Object.entries(part.undecidable))
      all.undecidable[why] = (all.undecidable[why] ?? 0) + count
  }
  all.delays.sort((one, other) => one - other)
  return all
}

function table(figures: Figures, seconds: number, threads: number): string {
  const { worlds, days, checks, events, delays, queries, undecidable, failed } = figures
  const count = (kind: string) => failed.flatMap(({ faults }) => faults).filter((fault) => fault.kind === kind).length
  const minutes = (share: number) => {
    const at = delays[Math.min(delays.length - 1, Math.floor(delays.length * share))]
    return at === undefined ? '-' : `${(at / 60_000).toFixed(1)} min`
  }
  const rows = [
    ['worlds', String(worlds)],
    ['monitor-days', `${days} (${Math.round(days / seconds / threads)} a second on each of ${threads} threads)`],
    ['checks', String(checks)],
    ['events', String(events)],
    ['false events', String(count('false event'))],
    ['missed changes', String(count('missed change'))],
    ['checks without an end', String(count('endless check'))],
    ['until a change is found', `p50 ${minutes(0.5)}, p99 ${minutes(0.99)}, longest ${minutes(1)}`],
    ...Object.entries(queries).map(([kind, cost]) => {
      return [`queries a day, ${kind}`, cost.days === 0 ? '-' : (cost.queries / cost.days).toFixed(1)]
    }),
    ...Object.entries(undecidable).map(([why, times]) => [`not decidable: ${why}`, String(times)]),
  ]
  const width = Math.max(...rows.map(([name]) => name!.length))
  const lines = rows.map(([name, value]) => `${name!.padEnd(width)}  ${value}`)
  const faults = failed
    .slice(0, 20)
    .map(({ seed, faults: [fault] }) => `\n${fault!.kind}: ${fault!.what}\n  npm run simulate -- --seed ${seed}`)
  return [...lines, ...faults].join('\n')
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
