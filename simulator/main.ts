import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { RULE_MUTANTS } from '#server/checks/rule-mutants.ts'
import { judgeAll } from './judge.ts'
import { nameOf } from './mutation.ts'
import { shrink } from './shrink.ts'
import { failureText, merge, type Totals, table, tooLittleDecided } from './totals.ts'
import type { Job } from './worker.ts'
import { drawWorld } from './world/draw.ts'

const BATCH_SIZE = 200
/** A mutant that these worlds do not show is not found. */
const MUTANT_WORLDS = 2_000

const USAGE = `Judges the rules of a check in worlds drawn from seeds, in virtual time.

  npm run simulate                        2,000 worlds of about ten days
  npm run simulate -- --worlds 100000     a million monitor-days
  npm run simulate -- --from 5000         another range of seeds
  npm run simulate -- --seed 42           one world, with every query and answer
  npm run simulate -- --mutants           breaks every rule and threshold, one after the other
  npm run simulate -- --mutants --only "Own network"`

const { values } = parseArgs({
  options: {
    worlds: { type: 'string', default: '2000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    threads: { type: 'string', default: String(Math.min(availableParallelism(), 4)) },
    mutants: { type: 'boolean', default: false },
    only: { type: 'string' },
    help: { type: 'boolean' },
  },
})
const threads = Number(values.threads)
if (values.help) print(USAGE)
else if (values.seed !== undefined) await replay(Number(values.seed))
else if (values.mutants) await runMutants(values.only)
else await runWorlds(Number(values.from), Number(values.worlds))

async function replay(seed: number): Promise<void> {
  const world = drawWorld(seed)
  const [report] = await judgeAll([world], true)
  print(JSON.stringify(world, null, 2))
  for (const line of report!.trace) print(line)
  for (const name of report!.undecidable) print(`\nUndecidable case: ${name}.`)
  for (const { kind, text } of report!.faults) print(`\n${kind}: ${text}`)
  if (report!.faults.length === 0) {
    print('\nNo false event, and no missed or late change.')
    return
  }
  print(`\nThe smallest world with the fault:\n${JSON.stringify(await shrink(world), null, 2)}`)
  process.exitCode = 1
}

async function runWorlds(from: number, worlds: number): Promise<void> {
  const startedAt = process.hrtime.bigint()
  const parts = await inThreads(batches(from, worlds), (job, part) => {
    const seeds = `seeds ${job.from} to ${job.from + job.worlds - 1}`
    process.stderr.write([`${seeds}: ${part.failed.length} failed`, ...part.failed.map(failureText), ''].join('\n'))
  })
  const totals = merge(parts)
  print(table(totals, Number(process.hrtime.bigint() - startedAt) / 1e9, threads))
  const tooLittle = tooLittleDecided(totals)
  for (const text of tooLittle) print(`\n${text}`)
  if (totals.failed.length > 0 || tooLittle.length > 0) process.exitCode = 1
}

function batches(from: number, worlds: number): Job[] {
  return Array.from({ length: Math.ceil(worlds / BATCH_SIZE) }, (_, index): Job => {
    return { from: from + index * BATCH_SIZE, worlds: Math.min(BATCH_SIZE, worlds - index * BATCH_SIZE) }
  })
}

/** Breaks one rule or threshold after the other. Each must cause a fault in a world that has none without it. */
async function runMutants(only: string | undefined): Promise<void> {
  const unbroken = merge(await inThreads(batches(1, MUTANT_WORLDS), () => {}))
  const skip = unbroken.failed.map(({ seed }) => seed)
  for (const failure of unbroken.failed) print(`Without a mutant: ${failureText(failure)}`)
  const chosen = RULE_MUTANTS.filter((mutant) => only === undefined || nameOf(mutant).includes(only))
  const jobs = chosen.map((mutant): Job => ({ from: mutant.seed ?? 1, worlds: MUTANT_WORLDS, mutant, skip }))
  let survivors = 0
  await inThreads(jobs, ({ mutant }, { failed: [failure], worlds }) => {
    if (!failure) survivors += 1
    const result = failure ? `found in world ${worlds}: ${failureText(failure)}` : `NOT FOUND in ${worlds} worlds`
    print(`${nameOf(mutant!)}: ${result}`)
  })
  print(`\n${chosen.length - survivors} of ${chosen.length} mutants were found.`)
  if (survivors > 0 || skip.length > 0) process.exitCode = 1
}

/** Runs the jobs until none is left. A mutant has a thread of its own, because modules are loaded once. */
async function inThreads(jobs: Job[], onEnd: (job: Job, part: Totals) => void): Promise<Totals[]> {
  const parts: Totals[] = []
  await Promise.all(
    Array.from({ length: threads }, async () => {
      for (let job = jobs.shift(); job; job = jobs.shift()) {
        const part = await runInThread(job)
        parts.push(part)
        onEnd(job, part)
      }
    }),
  )
  return parts
}

async function runInThread(job: Job): Promise<Totals> {
  const worker = new Worker(new URL('./worker.ts', import.meta.url), {
    workerData: job,
    resourceLimits: { maxYoungGenerationSizeMb: 128 },
  })
  const [part] = (await once(worker, 'message')) as [Totals]
  await worker.terminate()
  return part
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
