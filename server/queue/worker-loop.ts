import type { Logger } from 'pino'
import { type Clock, watchForStepBack } from '../clock.ts'
import type { Database } from '../database/database.ts'
import type { Tables } from '../database/schema.ts'
import type { LoopHealth } from '../loop-health.ts'
import { type DueTable, nextDueAt, releaseUnknown } from './lease-queue.ts'
import type { WakeUp } from './wake-up.ts'

export type WorkerDeps = {
  db: Database
  clock: Clock
  log: Logger
  loopHealth: LoopHealth
  process: number
}

/** `stop`: claim nothing more and complete the work in progress. `abandon`: abort that too. */
export type Signals = { stop: AbortSignal; abandon: AbortSignal }

/** `restMs`: the pause after a pass. `isIdle`: nothing more is due, so the loop waits for a wake-up or the next due time. */
export type Rest = { restMs: number; isIdle: boolean }

export type Worker = {
  /** For the health of the loops. */
  name: string
  table: DueTable
  /** The table with the next due time. Default: `table`. */
  plannedIn?: keyof Tables & `due_${string}`
  wakeUp: WakeUp
  /** The log message if a pass fails. */
  failure: string
  /** Claims due rows, up to a limit, and processes them or starts to. */
  pass(): Promise<Rest>
  /** Repairs due times that are too far ahead. Called at the start, and when the clock was set back. */
  repair(self: { now: number; process: number }): Promise<void>
  /** The last columns of the keys of the rows that this process has claimed and not completed. */
  held(): ReadonlySet<unknown>
}

/** The pause if due rows cannot be claimed, because there is no capacity or another process has locked them. */
export const BUSY_MS = 75
const RETRY_MS = 1_000

/** Runs the passes of a worker until `stop`, also after errors such as an unavailable database. */
export async function runWorker(deps: WorkerDeps, stop: AbortSignal, worker: Worker): Promise<void> {
  const { db, clock, log, loopHealth, process } = deps
  const { name, table, wakeUp } = worker
  const wasSetBack = watchForStepBack(clock)
  let mustRepair = true
  let mayHoldUnknown = false
  loopHealth.begin(name, clock.elapsed())
  while (!stop.aborted) {
    try {
      if (wasSetBack()) mustRepair = true
      if (mustRepair) await worker.repair({ now: clock.now(), process })
      mustRepair = false
      if (mayHoldUnknown) await releaseUnknown(db, table, { process, held: worker.held(), now: clock.now() })
      mayHoldUnknown = false
      const { restMs, isIdle } = await worker.pass()
      loopHealth.report(name, clock.elapsed()) // only now: a pass that fails is no work
      if (restMs > 0) await clock.sleep(restMs, stop)
      if (isIdle) await wakeUp.wait(await idleMs(deps, worker), clock, stop)
    } catch (err) {
      mayHoldUnknown = true // the response to the commit of a claim may have been lost
      log.error({ err }, worker.failure)
      await clock.sleep(RETRY_MS, stop)
    }
  }
}

async function idleMs({ db, clock }: WorkerDeps, { table, plannedIn = table, wakeUp }: Worker): Promise<number> {
  if (wakeUp.isSent()) return 0
  const dueAt = await nextDueAt(db, plannedIn)
  if (dueAt === null) return wakeUp.pollMs()
  const now = clock.now()
  return dueAt <= now ? BUSY_MS : Math.min(dueAt - now, wakeUp.pollMs())
}

/** Repeats work, such as deleting old rows, until `stop`. It first runs at once. */
export async function runEvery(
  everyMs: number,
  { clock, log }: Pick<WorkerDeps, 'clock' | 'log'>,
  stop: AbortSignal,
  { failure, work }: { failure: string; work: () => Promise<unknown> },
): Promise<void> {
  while (!stop.aborted) {
    try {
      await work()
    } catch (err) {
      log.error({ err }, failure)
    }
    await clock.sleep(everyMs, stop)
  }
}
