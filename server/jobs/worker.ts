import { sql } from 'kysely'
import { isDatabaseUnavailable, isDeadlock } from '../database/unavailable.ts'
import { claimDue, repairAfterClockStep } from '../queue/lease-queue.ts'
import type { WakeUps } from '../queue/wake-up.ts'
import { runWorker, type Signals, type WorkerDeps } from '../queue/worker-loop.ts'
import { type RunDeps, recordFailure, runStep } from './run.ts'

export type JobWorkerDeps = WorkerDeps & Omit<RunDeps, 'sizes'> & { wakeUps: WakeUps }

/** Organizations of one pass, with one step each. */
const MAX_ORGANIZATIONS = 4
/** After each step, so that waiting checks and requests can use the database. */
export const GAP_MS = 5
/** Shorter than other leases, because a step locks its claim. A job pauses this long after its process died. */
const JOB_LEASE_MS = 15_000

/** The loop that runs jobs, until `stop`. */
export async function runJobWorker(deps: JobWorkerDeps, { stop }: Signals): Promise<void> {
  const { db, wakeUps } = deps
  const sizes: RunDeps['sizes'] = new Map()
  await runWorker(deps, stop, {
    name: 'jobs',
    table: 'due_jobs',
    wakeUp: wakeUps.jobs,
    failure: 'A job could not be continued. Retrying.',
    repair: (self) => repairAfterClockStep(db, 'due_jobs', self, { longestMs: sql.raw(String(JOB_LEASE_MS)) }),
    held: () => new Set(), // a pass ends with all of its claims
    pass: async () => {
      const count = await runDueJobs({ ...deps, sizes })
      return { restMs: 0, isIdle: count === 0 }
    },
  })
}

/** One pass: one step for each of a few organizations that have jobs. Returns how many organizations it claimed. */
export async function runDueJobs(deps: JobWorkerDeps & RunDeps): Promise<number> {
  const { db, clock, process, wakeUps, log } = deps
  const claims = await claimDue(db, 'due_jobs', {
    now: clock.now(),
    process,
    limit: MAX_ORGANIZATIONS,
    leaseMs: JOB_LEASE_MS,
  })
  for (const claim of claims) {
    try {
      const { changed } = await runStep(deps, claim)
      if (changed > 0) {
        wakeUps.checks.send()
        wakeUps.requests.send()
      }
    } catch (err) {
      if (isDatabaseUnavailable(err) || isDeadlock(err)) throw err
      log.error({ err, organization: claim.organization_id }, 'A batch of a job failed. It will be repeated.')
      await recordFailure(deps, claim, err)
    }
    await clock.sleep(GAP_MS)
  }
  return claims.length
}
