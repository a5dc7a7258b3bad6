import type { Clock } from '../clock.ts'
import { isDatabaseUnavailable } from '../database/unavailable.ts'
import { releaseUnknown, renewLeases, repairAfterClockStep } from '../queue/lease-queue.ts'
import { WakeUp } from '../queue/wake-up.ts'
import { runWorker, type Signals } from '../queue/worker-loop.ts'
import { checkSpan } from './check-metrics.ts'
import type { MonitorCheckResult } from './check-write.ts'
import { InFlight, MAX_IN_FLIGHT } from './in-flight.ts'
import { monitorLoader } from './load-monitor.ts'
import { type CheckWorkerDeps, CLOCK_STEP_REPAIR, checkRecords, GATHER_MS, RENEW_AFTER_MS } from './record-checks.ts'
import {
  beginRound,
  claimRounds,
  finishRound,
  leaveRound,
  MAX_ROUND_SIZE,
  type Round,
  type RoundClaim,
  repeatRound,
} from './round-store.ts'
import { type CheckClaim, runCheck } from './run-check.ts'

/** Rounds that are claimed at a time. */
const MAX_CLAIMED = 8
/** A check that is not over by then, after the last one of its round has begun, leaves the round. Longer than a busy machine needs. */
const LEAVE_AFTER_MS = 3_000
/** A check that failed by an error of the program does not hold its round up for longer. */
const REPEAT_AFTER_MS = 60_000

/**
 * Runs the regular checks, in rounds. An unchanged check writes nothing: the finished round says that it was made. A round is finished when
 * all its checks are, so one that is cut off is repeated as a whole; what its checks changed is recorded by then, in a transaction of each.
 */
export async function runRounds(deps: CheckWorkerDeps, { stop, abandon }: Signals): Promise<void> {
  const { db, clock, log, process, metrics } = deps
  const inFlight = new InFlight<CheckClaim>()
  /** The slow checks that have left their rounds, with the start of their leases. */
  const slow = new Map<CheckClaim, number>()
  const open = new Map<RoundClaim, { leasedAt: number; checks: number }>()
  const load = monitorLoader(db, clock)
  const records = checkRecords(deps)
  let mustRelease = false
  let renewal: Promise<unknown> | undefined
  const renew = async () => {
    const now = clock.elapsed()
    const isOld = (leasedAt: number) => now - leasedAt >= RENEW_AFTER_MS
    const rounds = [...open].flatMap(([claim, { leasedAt }]) => (isOld(leasedAt) ? [claim] : []))
    const checks = [...slow].flatMap(([claim, leasedAt]) => (isOld(leasedAt) ? [claim] : []))
    if (rounds.length + checks.length === 0) return
    renewal = Promise.all([
      renewLeases(db, 'due_rounds', rounds, clock.now()),
      renewLeases(db, 'due_checks', checks, clock.now()),
    ])
    await renewal
    for (const claim of rounds) {
      const round = open.get(claim)
      if (round) round.leasedAt = now
    }
    for (const claim of checks) if (slow.has(claim)) slow.set(claim, now)
  }

  /** Undefined: the check was interrupted. */
  const check = async (claim: CheckClaim): Promise<MonitorCheckResult | undefined> => {
    inFlight.start(claim, clock.elapsed())
    metrics?.late(clock.now() - claim.was_due_at)
    const startedAt = clock.now()
    try {
      const result = await runCheck(claim, deps, load, abandon)
      deps.tracing?.record(checkSpan(result, startedAt))
      return result
    } catch (err) {
      if (abandon.aborted || isDatabaseUnavailable(err)) return undefined
      log.error({ err, monitor: claim.monitor_id }, 'A check was interrupted. It will be repeated.')
      metrics?.checks('interrupted', 1)
      return { claim, startedAt, at: clock.now(), kind: 'postponed', afterMs: REPEAT_AFTER_MS }
    } finally {
      inFlight.finish(claim)
    }
  }

  const running = new Set<Promise<void>>()
  const track = (work: Promise<void>) => {
    const tracked = work.finally(() => running.delete(tracked))
    running.add(tracked)
  }

  const recordSlow = async (claim: CheckClaim, result: MonitorCheckResult | undefined) => {
    slow.delete(claim)
    await renewal?.catch(() => {}) // it would change the lease meanwhile
    if (result) await records.add(result)
  }

  /**
   * `repeatAt`: when to repeat the round, undefined if each of its monitors was checked and what changed is recorded. `delayMs`: how much
   * later than its slot and the start of the round a check began. `unchanged`: what only the finished round records.
   */
  const checkAll = async (round: RoundClaim, { checks, startedAt }: Round) => {
    const counts = { unchanged: 0, interrupted: 0 }
    const recorded: Promise<boolean>[] = []
    const pending = new Map<CheckClaim, Promise<void>>()
    let started = 0
    let delayMs = 0
    let leaving: Promise<void> | undefined
    for await (const claim of paced(checks, { clock, stop, capacity: () => inFlight.capacity(clock.elapsed()) })) {
      const run = async () => {
        const result = await check(claim)
        pending.delete(claim)
        await leaving?.catch(() => {}) // then the round is repeated
        if (!claim.read) await recordSlow(claim, result)
        else if (!result) counts.interrupted++
        else if (result.kind === 'unchanged') counts.unchanged++
        else recorded.push(records.add(result))
      }
      started++
      delayMs = Math.max(delayMs, clock.now() - Math.max(startedAt, claim.was_due_at))
      pending.set(claim, run())
    }
    await Promise.race([Promise.all(pending.values()), clock.sleep(LEAVE_AFTER_MS)])
    if (pending.size > 0) {
      const unfinished = [...pending]
      await renewal?.catch(() => {}) // it would change the lease meanwhile
      leaving = leaveRound(db, round, [...pending.keys()], clock.now())
      await leaving
      for (const [claim, check] of unfinished) {
        if (!claim.read && pending.has(claim)) slow.set(claim, clock.elapsed())
        if (claim.read)
          await check // its monitor has changed
        else track(check)
      }
    }
    metrics?.checks('unchanged', counts.unchanged)
    const wereRecorded = (await Promise.all(recorded)).every(Boolean)
    const { unchanged, interrupted } = counts
    if (started < checks.length || interrupted > 0) return { repeatAt: clock.now(), delayMs, unchanged }
    return { repeatAt: wereRecorded ? undefined : clock.now() + REPEAT_AFTER_MS, delayMs, unchanged }
  }

  const run = async (claim: RoundClaim) => {
    try {
      const round = await beginRound(db, claim, clock.now())
      if (!round) return
      open.get(claim)!.checks = round.checks.length
      const { repeatAt, delayMs, unchanged } = await checkAll(claim, round)
      open.delete(claim)
      await renewal?.catch(() => {}) // it would change the lease meanwhile
      if (repeatAt !== undefined) await repeatRound(db, claim, repeatAt)
      else if (!(await finishRound(db, claim, round, delayMs))) metrics?.lostLeases(unchanged)
    } catch (err) {
      mustRelease ||= isDatabaseUnavailable(err)
      if (!abandon.aborted) log.error({ err }, 'A round of checks was interrupted. It will be repeated.')
    } finally {
      open.delete(claim)
    }
  }

  const held = () => new Set([...open.keys()].map(({ first_slot }) => first_slot))
  await runWorker(deps, stop, {
    name: 'round checker',
    table: 'due_rounds',
    wakeUp: new WakeUp(),
    failure: 'Due rounds of checks cannot be read. Retrying.',
    repair: (self) => repairAfterClockStep(db, 'due_rounds', self, CLOCK_STEP_REPAIR),
    held,
    pass: async () => {
      if (mustRelease) {
        await releaseUnknown(db, 'due_rounds', { process, held: held(), now: clock.now() })
        mustRelease = false
      }
      await renew()
      let inProgress = 0
      for (const { checks } of open.values()) inProgress += checks
      const limit = Math.min(MAX_CLAIMED, Math.floor((MAX_IN_FLIGHT - inProgress) / MAX_ROUND_SIZE))
      if (limit < 1) return { restMs: GATHER_MS, isIdle: false }
      const claims = await claimRounds(db, { now: clock.now(), process, limit })
      for (const claim of claims) {
        open.set(claim, { leasedAt: clock.elapsed(), checks: MAX_ROUND_SIZE })
        track(run(claim))
      }
      return { restMs: claims.length === limit ? 0 : GATHER_MS, isIdle: claims.length === 0 }
    },
  })
  while (running.size > 0) await Promise.all(running)
}

type Pace = { clock: Clock; stop: AbortSignal; capacity: () => number }

/** Each check at its slot, or at once if that has passed, while there is capacity. Ends early at `stop`. */
async function* paced(checks: readonly CheckClaim[], { clock, stop, capacity }: Pace): AsyncGenerator<CheckClaim> {
  let free = 0
  for (const claim of checks) {
    const earlyMs = claim.was_due_at - clock.now()
    if (earlyMs > GATHER_MS) {
      await clock.sleep(earlyMs, stop)
      free = 0
    }
    while (free === 0 && !stop.aborted) {
      free = capacity()
      if (free === 0) await clock.sleep(GATHER_MS, stop)
    }
    if (stop.aborted) return
    free--
    yield claim
  }
}
