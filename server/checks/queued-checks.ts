import { isDatabaseUnavailable } from '../database/unavailable.ts'
import { type Claim, claimDue, releaseUnknown, renewLeases, repairAfterClockStep } from '../queue/lease-queue.ts'
import { claimable } from '../queue/organization-share.ts'
import { runWorker, type Signals } from '../queue/worker-loop.ts'
import { checkSpan } from './check-metrics.ts'
import { InFlight } from './in-flight.ts'
import { monitorLoader } from './load-monitor.ts'
import { type CheckWorkerDeps, CLOCK_STEP_REPAIR, checkRecords, GATHER_MS, RENEW_AFTER_MS } from './record-checks.ts'
import { runCheck } from './run-check.ts'

export const BATCH_SIZE = 500

/** Claims the checks in the queue of rows: first ones, repeated ones, and those that a user starts. Runs and records them. Runs until `stop`; `abandon` aborts checks in progress. */
export async function runQueuedChecks(deps: CheckWorkerDeps, { stop, abandon }: Signals): Promise<void> {
  const { db, clock, log, wakeUps, process, metrics } = deps
  const inFlight = new InFlight<Claim<'due_checks'>>()
  const records = checkRecords(deps)
  const load = monitorLoader(db, clock)
  let mustRelease = false
  let renewal: Promise<unknown> | undefined
  /** Checks may take longer than their leases, on a busy machine and at slow servers. */
  const renew = async () => {
    const claims = inFlight.undecidedSince(clock.elapsed() - RENEW_AFTER_MS)
    if (claims.length === 0) return
    renewal = renewLeases(db, 'due_checks', claims, clock.now())
    await renewal
    inFlight.renewed(claims, clock.elapsed())
  }
  const check = async (claim: Claim<'due_checks'>) => {
    try {
      const startedAt = clock.now()
      const result = await runCheck(claim, deps, load, abandon)
      deps.tracing?.record(checkSpan(result, startedAt))
      inFlight.decided(claim)
      await renewal?.catch(() => {}) // it would change the lease while the check is completed
      await records.add(result)
    } catch (err) {
      // The check is repeated when its lease expires, or at once if the database was unavailable.
      mustRelease ||= isDatabaseUnavailable(err)
      metrics?.checks('interrupted', 1)
      if (!abandon.aborted)
        log.error({ err, monitor: claim.monitor_id }, 'A check was interrupted. It will be repeated.')
    } finally {
      inFlight.finish(claim)
    }
  }
  await runWorker(deps, stop, {
    name: 'checker',
    table: 'due_checks',
    wakeUp: wakeUps.checks,
    failure: 'Due checks cannot be read. Retrying.',
    repair: (self) => repairAfterClockStep(db, 'due_checks', self, CLOCK_STEP_REPAIR),
    held: () => inFlight.slots(),
    pass: async () => {
      if (mustRelease) {
        await releaseUnknown(db, 'due_checks', { process, held: inFlight.slots(), now: clock.now() })
        mustRelease = false
      }
      await renew()
      const limit = Math.min(BATCH_SIZE, claimable(inFlight.capacity(clock.elapsed())))
      if (limit === 0) return { restMs: GATHER_MS, isIdle: false }
      const claims = await claimDue(db, 'due_checks', { now: clock.now(), process, limit, without: inFlight.full() })
      for (const claim of claims) {
        inFlight.start(claim, clock.elapsed())
        metrics?.late(clock.now() - claim.was_due_at)
        void check(claim)
      }
      const isIdle = claims.length === 0
      return { restMs: isIdle || claims.length === limit ? 0 : GATHER_MS, isIdle }
    },
  })
  await inFlight.idle()
}
