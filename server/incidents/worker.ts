import { sql } from 'kysely'
import { LEASE_MS, repairAfterClockStep } from '../queue/lease-queue.ts'
import type { WakeUps } from '../queue/wake-up.ts'
import { runWorker, type Signals, type WorkerDeps } from '../queue/worker-loop.ts'
import { evaluateDue } from './events-to-incidents.ts'

/** Organizations that one pass evaluates. */
const EVALUATION_BATCH_SIZE = 8
/** The pause between passes collects the events of several check batches, so that checks wait for fewer transactions. */
const PAUSE_MS = 25
const PAUSE_BEHIND_MS = 5

/** Turns events into incidents and alerts until `stop`. */
export async function runEvaluation(deps: WorkerDeps & { wakeUps: WakeUps }, { stop }: Signals): Promise<void> {
  const { db, clock, process, wakeUps } = deps
  await runWorker(deps, stop, {
    name: 'incidents',
    table: 'due_evaluations',
    wakeUp: wakeUps.evaluations,
    failure: 'Events could not be turned into incidents. Retrying.',
    repair: (self) => repairAfterClockStep(db, 'due_evaluations', self, { longestMs: sql.raw(String(LEASE_MS)) }),
    held: () => new Set(), // A pass completes all of its claims.
    pass: async () => {
      const { count, isBehind } = await evaluateDue(db, { now: clock.now(), process, limit: EVALUATION_BATCH_SIZE })
      if (count > 0) wakeUps.alerts.send()
      return { restMs: count === 0 ? 0 : isBehind ? PAUSE_BEHIND_MS : PAUSE_MS, isIdle: count === 0 }
    },
  })
}
