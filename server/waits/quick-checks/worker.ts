import { sql } from 'kysely'
import { forOrganization } from '../../checks/monitor-query.ts'
import type { CheckWorkerDeps } from '../../checks/record-checks.ts'
import type { AuthoritativeClient } from '../../dns/resolver/authoritative-client.ts'
import { claimDue, LEASE_MS, repairAfterClockStep } from '../../queue/lease-queue.ts'
import { claimable, organizationsWithShare } from '../../queue/organization-share.ts'
import { runWorker, type Signals } from '../../queue/worker-loop.ts'
import { expectationOf, quickCheck } from './quick-check.ts'
import { endWait, findClaimedWait, recordQuickCheck, timeOutWait, type WaitClaim } from './store.ts'

export type WaitWorkerDeps = CheckWorkerDeps & { authoritativeClient?: AuthoritativeClient | undefined }

/** Quick checks in progress, and started per second if more are due. Regular checks use the same name servers. */
const MAX_IN_FLIGHT = 50
/** So that at most `MAX_IN_FLIGHT` are started per second. */
const REST_MS = 500
/** The longest delay of a quick check. */
const MAX_DUE_MS = 120 * 60_000 * 15
const BUSY_MS = 50

/** Checks monitors that wait for their records. Runs until `stop`; `abandon` aborts quick checks in progress. */
export async function runWaitWorker(deps: WaitWorkerDeps, { stop, abandon }: Signals): Promise<void> {
  const { db, clock, process, wakeUps, log } = deps
  const inFlight = new Map<string, { organizationId: string; done: Promise<void> }>()
  const start = (claim: WaitClaim) => {
    const done = processWait(deps, claim, abandon)
      .catch((err) => {
        if (!abandon.aborted)
          log.error({ err, monitor: claim.monitor_id }, 'A quick check failed. It will be repeated.')
      })
      .finally(() => inFlight.delete(claim.monitor_id))
    inFlight.set(claim.monitor_id, { organizationId: claim.organization_id, done })
  }
  await runWorker(deps, stop, {
    name: 'waits',
    table: 'due_waits',
    wakeUp: wakeUps.waits,
    failure: 'Due quick checks cannot be read. Retrying.',
    repair: (self) =>
      repairAfterClockStep(db, 'due_waits', self, { longestMs: sql.raw(String(Math.max(LEASE_MS, MAX_DUE_MS))) }),
    held: () => new Set(inFlight.keys()),
    pass: async () => {
      const limit = claimable(MAX_IN_FLIGHT - inFlight.size)
      if (limit === 0) return { restMs: BUSY_MS, isIdle: false }
      // Silent name servers of an organization leave slots to the others.
      const organizations = [...inFlight.values()].map(({ organizationId }) => organizationId)
      const without = organizationsWithShare(organizations, MAX_IN_FLIGHT)
      const claims = await claimDue(db, 'due_waits', { now: clock.now(), process, limit, without })
      for (const claim of claims) start(claim)
      return { restMs: claims.length === limit ? REST_MS : 0, isIdle: claims.length === 0 }
    },
  })
  await Promise.all([...inFlight.values()].map(({ done }) => done))
}

/** Ends a claimed wait that is over, or runs a quick check. */
export async function processWait(deps: WaitWorkerDeps, claim: WaitClaim, signal: AbortSignal): Promise<void> {
  const { db, clock, wakeUps } = deps
  const row = await findClaimedWait(db, claim)
  if (!row) return await endWait(db, claim, undefined, clock.now())
  if (row.state === 'VALID') return await endWait(db, claim, 'valid', clock.now())
  if (clock.now() >= row.deadline_at) {
    if (await timeOutWait(db, claim, clock.now())) {
      wakeUps.requests.send()
      wakeUps.evaluations.send()
    }
    return
  }
  const grouped = forOrganization(deps, claim.organization_id)
  const result =
    row.is_active === 1 ? await quickCheck(expectationOf(row), grouped, row.check_count, signal) : undefined
  if (await recordQuickCheck(db, claim, row, result, clock.now())) wakeUps.checks.send()
}
