import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import { shrink } from './shrink.ts'
import { type DetectionDelay, type Report, simulate } from './simulate.ts'
import { UNDECIDABLE } from './truth.ts'

/** The figures of many worlds together. Delays are those of worlds without an undecidable case. */
type Totals = {
  worlds: number
  days: number
  checks: number
  events: number
  kinds: Record<Kind, { queries: number; days: number; delays: (DetectionDelay & { seed: number })[] }>
  undecidable: Record<string, { worlds: number; days: number }>
  failed: { seed: number; faults: Report['faults'] }[]
}
type Kind = 'quiet' | 'changing' | 'broken' | 'rotating'

/** Seeds that one thread runs at a time. */
type Batch = { from: number; worlds: number }
const BATCH_SIZE = 500
/** With fewer worlds, the share of undecidable ones varies too much to be checked. */
const MIN_WORLDS = 5_000

const USAGE = `Runs the rules of a check against worlds drawn from seeds, in virtual time.

  npm run simulate                        10,000 worlds of ten days
  npm run simulate -- --worlds 100000     a million monitor-days
  npm run simulate -- --from 5000         another range of seeds
  npm run simulate -- --seed 42           one world, with every query and answer`

if (isMainThread) await main()
else parentPort!.on('message', ({ from, worlds }: Batch) => parentPort!.postMessage(runSeeds(from, worlds)))

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
  const batches = newBatches(Number(values.from), Number(values.worlds))
  const parts = (await Promise.all(Array.from({ length: threads }, () => runInThread(batches)))).flat()
  const seconds = Number(process.hrtime.bigint() - startedAt) / 1e9
  const figures = merge(parts)
  print(table(figures, seconds, threads))
  const tooMany = tooManyUndecidable(figures)
  for (const name of tooMany) print(`\nMore worlds than permitted are undecidable: ${name}`)
  if (figures.failed.length > 0 || tooMany.length > 0) process.exitCode = 1
}

function replay(seed: number): void {
  const report = simulate(seed, { trace: true })
  print(JSON.stringify(report.world, null, 2))
  for (const line of report.trace) print(line)
  for (const name of report.undecidable) print(`\nUndecidable case: ${name}.`)
  for (const { kind, text } of report.faults) print(`\n${kind}: ${text}`)
  if (report.faults.length === 0) {
    print('\nNo false event and no missed change.')
    return
  }
  print(`\nThe smallest world with the fault:\n${JSON.stringify(shrink(report.world), null, 2)}`)
  process.exitCode = 1
}

function newBatches(from: number, worlds: number): Batch[] {
  return Array.from({ length: Math.ceil(worlds / BATCH_SIZE) }, (_, index) => {
    return { from: from + index * BATCH_SIZE, worlds: Math.min(BATCH_SIZE, worlds - index * BATCH_SIZE) }
  })
}

/** Runs batches until none is left. Prints the failures of each batch when it ends. */
async function runInThread(batches: Batch[]): Promise<Totals[]> {
  const worker = new Worker(new URL(import.meta.url), { resourceLimits: { maxYoungGenerationSizeMb: 64 } })
  const parts: Totals[] = []
  for (let batch = batches.shift(); batch; batch = batches.shift()) {
    const message = once(worker, 'message')
    worker.postMessage(batch)
    const [part]: Totals[] = await message
    parts.push(part!)
    const seeds = `seeds ${batch.from} to ${batch.from + batch.worlds - 1}`
    process.stderr.write([`${seeds}: ${part!.failed.length} failed`, ...part!.failed.map(failureText), ''].join('\n'))
  }
  await worker.terminate()
  return parts
}

function runSeeds(from: number, worlds: number): Totals {
  const figures = newTotals()
  for (let seed = from; seed < from + worlds; seed++) {
    const report = simulate(seed)
    figures.worlds += 1
    figures.days += report.world.days
    figures.checks += report.checks
    figures.events += report.events
    for (const name of report.undecidable) {
      const before = figures.undecidable[name] ?? { worlds: 0, days: 0 }
      figures.undecidable[name] = { worlds: before.worlds + 1, days: before.days + report.world.days }
    }
    const kind = figures.kinds[kindOf(report)]
    if (report.undecidable.length === 0) kind.delays.push(...report.delays.map((delay) => ({ ...delay, seed })))
    kind.queries += report.queries
    kind.days += report.world.days
    if (report.faults.length > 0) figures.failed.push({ seed, faults: report.faults })
  }
  return figures
}

function kindOf({ world }: Report): Kind {
  if (world.periods.some(({ members, size }) => size < members.length)) return 'rotating'
  const isBroken =
    world.loss > 0 ||
    world.geo !== undefined ||
    world.truncates === true ||
    world.poisoned.length > 0 ||
    world.nameServers.some(({ region }) => region !== undefined) ||
    world.outages.length + world.captive.length + world.closed.length > 0 ||
    [...world.nameServers, ...world.resolvers].some(({ status }) => status !== 'ok')
  if (isBroken) return 'broken'
  return world.periods.length > 1 ? 'changing' : 'quiet'
}

function newTotals(): Totals {
  const none = () => ({ queries: 0, days: 0, delays: [] })
  const kinds = { quiet: none(), changing: none(), broken: none(), rotating: none() }
  return { worlds: 0, days: 0, checks: 0, events: 0, kinds, undecidable: {}, failed: [] }
}

function merge(parts: readonly Totals[]): Totals {
  const all = newTotals()
  for (const part of parts) {
    all.worlds += part.worlds
    all.days += part.days
    all.checks += part.checks
    all.events += part.events
    all.failed.push(...part.failed)
    for (const name of Object.keys(all.kinds) as Kind[]) {
      const kind = all.kinds[name]
      kind.queries += part.kinds[name].queries
      kind.days += part.kinds[name].days
      for (const delay of part.kinds[name].delays) kind.delays.push(delay)
    }
    for (const [name, { worlds, days }] of Object.entries(part.undecidable)) {
      const before = all.undecidable[name] ?? { worlds: 0, days: 0 }
      all.undecidable[name] = { worlds: before.worlds + worlds, days: before.days + days }
    }
  }
  return all
}

function table(figures: Totals, seconds: number, threads: number): string {
  const { worlds, days, checks, events, kinds, undecidable, failed } = figures
  const count = (kind: string) => failed.flatMap(({ faults }) => faults).filter((fault) => fault.kind === kind).length
  const rows = [
    ['worlds', String(worlds)],
    ['monitor-days', `${days} (${Math.round(days / seconds / threads)} a second on each of ${threads} threads)`],
    ['checks', String(checks)],
    ['events', String(events)],
    ['false events', String(count('false event'))],
    ['missed changes', String(count('missed change'))],
    ['late changes', String(count('late change'))],
    ['unfinished checks', String(count('unfinished check'))],
    ...Object.entries(kinds).flatMap(([kind, { queries, days: length, delays }]) => [
      [`queries a day, ${kind}`, length === 0 ? '-' : (queries / length).toFixed(1)],
      [`a change is detected, ${kind}`, delayText(delays.map(({ sinceVisible, seed }) => [sinceVisible, seed]))],
      [`  since the next regular check`, delayText(delays.map(({ sinceCheck, seed }) => [sinceCheck, seed]))],
    ]),
    ...UNDECIDABLE.map(({ case: name, maxPercent }) => {
      const { worlds: count, days: length } = undecidable[name] ?? { worlds: 0, days: 0 }
      const percent = ((100 * count) / worlds).toFixed(2)
      return [`undecidable: ${name}`, `${count} worlds, ${length} days, ${percent} % (at most ${maxPercent} %)`]
    }),
  ]
  const width = Math.max(...rows.map(([name]) => name!.length))
  const lines = rows.map(([name, value]) => `${name!.padEnd(width)}  ${value}`)
  const faults = failed.slice(0, 20).map((failure) => `\n${failureText(failure)}`)
  return [...lines, ...faults].join('\n')
}

/** The cases that apply to more worlds than permitted. */
function tooManyUndecidable({ worlds, undecidable }: Totals): string[] {
  if (worlds < MIN_WORLDS) return []
  return UNDECIDABLE.filter(({ case: name, maxPercent }) => {
    return 100 * (undecidable[name]?.worlds ?? 0) > maxPercent * worlds
  }).map(({ case: name }) => name)
}

function failureText({ seed, faults: [fault] }: Totals['failed'][number]): string {
  return `${fault!.kind}: ${fault!.text}\n  npm run simulate -- --seed ${seed}`
}

/** `delays`: milliseconds, and the seed of the world. */
function delayText(delays: [ms: number, seed: number][]): string {
  if (delays.length === 0) return '-'
  delays.sort(([a], [b]) => a - b)
  const minutes = (share: number) => {
    const [ms] = delays[Math.min(delays.length - 1, Math.floor(delays.length * share))]!
    return `${(ms / 60_000).toFixed(1)} min`
  }
  const [, seed] = delays.at(-1)!
  return `p50 ${minutes(0.5)}, p99 ${minutes(0.99)}, longest ${minutes(1)} (seed ${seed}; ${delays.length} changes)`
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
