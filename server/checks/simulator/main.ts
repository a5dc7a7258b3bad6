import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import { shrink } from './shrink.ts'
import { type Delay, type Report, simulate } from './simulate.ts'
import { UNDECIDABLE } from './truth.ts'

/** The figures of many worlds together. Delays and queries are those of worlds in which a strategy can be right. */
type Totals = {
  worlds: number
  days: number
  checks: number
  events: number
  kinds: Record<Kind, { queries: number; days: number; delays: (Delay & { seed: number })[] }>
  undecidable: Record<string, { worlds: number; days: number }>
  failed: { seed: number; faults: Report['faults'] }[]
}
type Kind = 'quiet' | 'changing' | 'broken' | 'rotating'

/** Seeds that one thread runs at a time. */
type Block = { from: number; worlds: number }
const BLOCK_SIZE = 500
/** Fewer worlds say little of the share of those that are classed as not decidable. */
const MIN_WORLDS = 5_000

const USAGE = `Runs the rules of a check against worlds drawn from seeds, in virtual time.

  npm run simulate                        10,000 worlds of ten days
  npm run simulate -- --worlds 100000     a million monitor-days
  npm run simulate -- --from 5000         another range of seeds
  npm run simulate -- --seed 42           one world, with every query and answer`

if (isMainThread) await main()
else parentPort!.on('message', ({ from, worlds }: Block) => parentPort!.postMessage(runSeeds(from, worlds)))

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
  const blocks = blocksOf(Number(values.from), Number(values.worlds))
  const parts = (await Promise.all(Array.from({ length: threads }, () => runInThread(blocks)))).flat()
  const seconds = Number(process.hrtime.bigint() - startedAt) / 1e9
  const figures = merge(parts)
  print(table(figures, seconds, threads))
  const tooMany = tooManyUndecidable(figures)
  for (const each of tooMany) print(`\nMore worlds than permitted are classed as not decidable: ${each}`)
  if (figures.failed.length > 0 || tooMany.length > 0) process.exitCode = 1
}

function replay(seed: number): void {
  const report = simulate(seed, { trace: true })
  print(JSON.stringify(report.world, null, 2))
  for (const line of report.trace) print(line)
  for (const each of report.undecidable) print(`\nNo strategy can be right here: ${each}.`)
  for (const { kind, what } of report.faults) print(`\n${kind}: ${what}`)
  if (report.faults.length === 0) {
    print('\nNo false event and no missed change.')
    return
  }
  print(`\nThe smallest world that shows it:\n${JSON.stringify(shrink(report.world), null, 2)}`)
  process.exitCode = 1
}

function blocksOf(from: number, worlds: number): Block[] {
  return Array.from({ length: Math.ceil(worlds / BLOCK_SIZE) }, (_, at) => {
    return { from: from + at * BLOCK_SIZE, worlds: Math.min(BLOCK_SIZE, worlds - at * BLOCK_SIZE) }
  })
}

/** Takes blocks until none is left. What failed is shown at once, and how far the run is. */
async function runInThread(blocks: Block[]): Promise<Totals[]> {
  const worker = new Worker(new URL(import.meta.url), { resourceLimits: { maxYoungGenerationSizeMb: 64 } })
  const parts: Totals[] = []
  for (let block = blocks.shift(); block; block = blocks.shift()) {
    const answer = once(worker, 'message')
    worker.postMessage(block)
    const [part]: Totals[] = await answer
    parts.push(part!)
    const seeds = `seeds ${block.from} to ${block.from + block.worlds - 1}`
    process.stderr.write([`${seeds}: ${part!.failed.length} failed`, ...part!.failed.map(failureText), ''].join('\n'))
  }
  await worker.terminate()
  return parts
}

/** `worlds` seeds from `from` on. */
function runSeeds(from: number, worlds: number): Totals {
  const figures = newTotals()
  for (let seed = from; seed < from + worlds; seed++) {
    const report = simulate(seed)
    figures.worlds += 1
    figures.days += report.world.days
    figures.checks += report.checks
    figures.events += report.events
    for (const each of report.undecidable) {
      const known = figures.undecidable[each] ?? { worlds: 0, days: 0 }
      figures.undecidable[each] = { worlds: known.worlds + 1, days: known.days + report.world.days }
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
    for (const [why, { worlds, days }] of Object.entries(part.undecidable)) {
      const known = all.undecidable[why] ?? { worlds: 0, days: 0 }
      all.undecidable[why] = { worlds: known.worlds + worlds, days: known.days + days }
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
    ['checks without an end', String(count('unfinished check'))],
    ...Object.entries(kinds).flatMap(([kind, { queries, days: length, delays }]) => [
      [`queries a day, ${kind}`, length === 0 ? '-' : (queries / length).toFixed(1)],
      [`a change is found, ${kind}`, delayText(delays.map(({ sinceVisible, seed }) => [sinceVisible, seed]))],
      [`  since the next regular check`, delayText(delays.map(({ sinceCheck, seed }) => [sinceCheck, seed]))],
    ]),
    ...UNDECIDABLE.map(({ case: why, maxPercent }) => {
      const { worlds: count, days: length } = undecidable[why] ?? { worlds: 0, days: 0 }
      const percent = ((100 * count) / worlds).toFixed(2)
      return [`not decidable: ${why}`, `${count} worlds, ${length} days, ${percent} % (at most ${maxPercent} %)`]
    }),
  ]
  const width = Math.max(...rows.map(([name]) => name!.length))
  const lines = rows.map(([name, value]) => `${name!.padEnd(width)}  ${value}`)
  const faults = failed.slice(0, 20).map((each) => `\n${failureText(each)}`)
  return [...lines, ...faults].join('\n')
}

/** The cases in which more worlds are than docs/explanation/checks.md permits. */
function tooManyUndecidable({ worlds, undecidable }: Totals): string[] {
  if (worlds < MIN_WORLDS) return []
  return UNDECIDABLE.filter((each) => {
    return 100 * (undecidable[each.case]?.worlds ?? 0) > each.maxPercent * worlds
  }).map((each) => each.case)
}

function failureText({ seed, faults: [fault] }: Totals['failed'][number]): string {
  return `${fault!.kind}: ${fault!.what}\n  npm run simulate -- --seed ${seed}`
}

/** `delays`: milliseconds, and the seed of the world. */
function delayText(delays: [ms: number, seed: number][]): string {
  if (delays.length === 0) return '-'
  delays.sort(([one], [other]) => one - other)
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
