import type { Logger } from 'pino'
import { type Clock, watchForStepBack } from '../clock.ts'
import type { LoopHealth } from '../loop-health.ts'
import type { WakeUp } from '../wake-up.ts'
import type { Database } from './database.ts'
import { type DueTable, nextDueAt, releaseUnknown } from './lease-queue.ts'
import type { Tables } from './schema.ts'

export type WorkerDeps = {
  db: Database
  clock: Clock
  log: Logger
  loopHealth: LoopHealth
  process: number
}

/** `stop`: claim nothing more and finish what is in progress. `abandon`: give that up too. */
export type Signals = { stop: AbortSignal; abandon: AbortSignal }

/** How long to rest after a pass, and whether nothing more is due, so that the loop waits for a wake-up or the next due time. */
export type Rest = { restMs: number; isIdle: boolean }

export type Worker = {
  /** In the health of the loops. */
  name: string
  table: DueTable
  /** Where the next due time is read, if that is another table. */
  plannedIn?: keyof Tables & `due_${string}`
  wakeUp: WakeUp
  /** In the log when a pass fails. */
  failure: string
  /** Claims what is due, up to a limit, and begins it or does it. */
  pass(): Promise<Rest>
  /** Brings back what waits for a time that the clock no longer has: at the start, and when the clock was set back. */
  repair(self: { now: number; process: number }): Promise<void>
  /** The last columns of the keys of the rows that this process has claimed and not completed. */
  held(): ReadonlySet<unknown>
}

/** What is due but cannot be claimed, for want of capacity or because another process holds it, is tried again after this. */
export const BUSY_MS = 75
const RETRY_MS = 1_000

/** Runs the passes of a worker until `stop`. Of a database that is away it survives the absence. */
export async function runWorker(deps: WorkerDeps, stop: AbortSignal, worker: Worker): Promise<void> {
  const { db, clock, log, loopHealth, process } = deps
  const { name, table, wakeUp } = worker
  const wasSetBack = watchForStepBack(clock)
  let mustRepair = true
  let mayHoldUnknown = false
  while (!stop.aborted) {
    loopHealth.report(name, clock.elapsed())
    try {
      if (wasSetBack()) mustRepair = true
      if (mustRepair) await worker.repair({ now: clock.now(), process })
      mustRepair = false
      if (mayHoldUnknown) await releaseUnknown(db, table, { process, held: worker.held(), now: clock.now() })
      mayHoldUnknown = false
      const { restMs, isIdle } = await worker.pass()
      if (restMs > 0) await clock.sleep(restMs, stop)
      if (isIdle) await wakeUp.wait(await idleMs(deps, worker), clock, stop)
    } catch (err) {
      mayHoldUnknown = true // the answer to a commit may be what was lost
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

/** Repeats what must be done now and then, such as deleting what is old, until `stop`. The first time is now. */
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
