import { parentPort, workerData } from 'node:worker_threads'
import type { RuleMutant } from '#server/checks/rule-mutants.ts'
import { mutate } from './mutation.ts'
import { addReport, newTotals } from './totals.ts'
import { drawWorld } from './world/draw.ts'

/** Seeds that one thread runs. With a mutant, until it is found. `skip`: seeds that have a fault without it. */
export type Job = { from: number; worlds: number; mutant?: RuleMutant; skip?: readonly number[] }

/** Worlds that run at the same time. */
const AT_A_TIME = 40

const { from, worlds, mutant, skip = [] } = workerData as Job
if (mutant) await mutate(mutant)
const { judgeAll } = await import('./judge.ts')
const totals = newTotals()
for (let seed = from; seed < from + worlds; seed += AT_A_TIME) {
  const count = Math.min(AT_A_TIME, from + worlds - seed)
  const seeds = Array.from({ length: count }, (_, index) => seed + index).filter((each) => !skip.includes(each))
  const reports = await judgeAll(seeds.map(drawWorld))
  for (const report of reports) addReport(totals, report)
  if (mutant && totals.failed.length > 0) break
}
parentPort!.postMessage(totals)
