import type { Logger } from 'pino'
import { type Clock, watchClock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { type Claim, claimDue } from '../database/lease-queue.ts'
import { WriteBatches } from '../database/write-batches.ts'
import type { DnsClient } from '../dns/client.ts'
import type { LoopHealth } from '../loop-health.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { WakeUp } from '../wake-up.ts'
import { repairAfterClockStep } from './clock-step.ts'
import { runCheck } from './driver.ts'
import { InFlight } from './in-flight.ts'
import { observeChecks } from './observe.ts'
import { recordChecks, recordedLoader, type StoredResult } from './store.ts'

export type SchedulerDeps = {
  db: Database
  clock: Clock
  dns: DnsClient
  log: Logger
  loopHealth: LoopHealth
  /** Wakes the courier of this process. */
  wakeUp: WakeUp
  process: number
  metrics?: Metrics
}

const BATCH = 500
/** How long the loop rests when nothing is due. */
const IDLE_MS = 200
const GATHER_MS = 5

/** The loop that claims what is due, has it checked and records it. Runs until `stop`; `abandon` gives up what is under way. */
export async function runScheduler(
  deps: SchedulerDeps,
  { stop, abandon }: { stop: AbortSignal; abandon: AbortSignal },
): Promise<void> {
  const { db, clock, log, loopHealth, wakeUp, process, metrics } = deps
  const inFlight = new InFlight()
  const records = new WriteBatches<StoredResult>(
    async (results) => {
      const events = await recordChecks(db, results, clock.now())
      if (metrics) observeChecks(metrics, results, events)
      if (events === 0) return
      wakeUp.send()
      log.debug({ events }, 'Changes recorded.')
    },
    {
      clock,
      gatherMs: GATHER_MS,
      onGivenUp: (err) => log.error({ err }, 'A check could not be recorded. It will be repeated.'),
    },
  )
  const load = recordedLoader(db)
  const check = async (claim: Claim<'due_checks'>) => {
    try {
      await records.add(await runCheck(claim, deps, load, abandon))
    } catch (err) {
      // The lease runs out and the check is done again.
      metrics?.checks('interrupted', 1)
      if (!abandon.aborted)
        log.error({ err, monitor: claim.monitor_id }, 'A check was interrupted. It will be repeated.')
    } finally {
      inFlight.end(claim)
    }
  }
  const wasSetBack = watchClock(clock)
  let isPlanned = false
  while (!stop.aborted) {
    loopHealth.beat('checker', clock.elapsed())
    try {
      if (wasSetBack()) isPlanned = false
      if (!isPlanned) await repairAfterClockStep(db, { now: clock.now(), process })
      isPlanned = true
      const capacity = Math.min(BATCH, inFlight.capacity(clock.elapsed()))
      const claims =
        capacity > 0 ? await claimDue(db, 'due_checks', { now: clock.now(), process, limit: capacity }) : []
      for (const claim of claims) {
        inFlight.begin(claim, clock.elapsed())
        metrics?.late(clock.now() - claim.was_due_at)
        void check(claim)
      }
      const isIdle = capacity > 0 && claims.length === 0
      if (claims.length < BATCH) await clock.sleep(isIdle ? IDLE_MS : GATHER_MS, stop)
    } catch (err) {
      log.error({ err }, 'Due checks cannot be read. Retrying.')
      await clock.sleep(1_000, stop)
    }
  }
  await inFlight.ended()
}
