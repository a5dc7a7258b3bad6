import { parentPort, workerData } from 'node:worker_threads'
import type { RuleMutant } from '#server/checks/rule-mutants.ts'
import { mutate } from './mutation.ts'
import { addReport, newTotals } from './totals.ts'
import { drawWorld } from './world/draw.ts'

/** Seeds that one thread runs. `stopsAtFault`: after the first worlds with a fault. */
export type Job = { from: number; worlds: number; mutant?: RuleMutant; stopsAtFault?: boolean }

/** Worlds that run at the same time. */
const AT_A_TIME = 40

const { from, worlds, mutant, stopsAtFault = false } = workerData as Job
if (mutant) await mutate(mutant)
const { judgeAll } = await import('./judge.ts')
const totals = newTotals()
for (let seed = from; seed < from + worlds; seed += AT_A_TIME) {
  const count = Math.min(AT_A_TIME, from + worlds - seed)
  const reports = await judgeAll(Array.from({ length: count }, (_, index) => drawWorld(seed + index)))
  for (const report of reports) addReport(totals, report)
  if (stopsAtFault && totals.failed.length > 0) break
}
parentPort!.postMessage(totals)
