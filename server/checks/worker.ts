import { sql } from 'kysely'
import type { Database } from '../database/database.ts'
import {
  type Claim,
  type ClaimOptions,
  claimDue,
  LEASE_MS,
  releaseUnknown,
  renewLeases,
  repairAfterClockStep,
  type Waits,
} from '../database/lease-queue.ts'
import { isDatabaseUnavailable } from '../database/unavailable.ts'
import { runWorker, type Signals, type WorkerDeps } from '../database/worker-loop.ts'
import { WriteBatches } from '../database/write-batches.ts'
import type { DnsClient } from '../dns/client.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { Tracing } from '../metrics/tracing.ts'
import type { WakeUps } from '../wake-up.ts'
import { checkSpan, observeChecks } from './check-metrics.ts'
import type { MonitorCheckResult } from './check-write.ts'
import { monitorLoader } from './load-monitor.ts'
import { recordChecks } from './record-checks.ts'
import { runCheck } from './run-check.ts'

export type CheckWorkerDeps = WorkerDeps & {
  dns: DnsClient
  wakeUps: WakeUps
  metrics?: Metrics
  tracing?: Tracing | undefined
}

export const BATCH_SIZE = 500
/** Results within this time are written together, and due checks claimed together. With 5 ms a check costs a tenth more CPU. */
export const GATHER_MS = 20

/** Moves by whole intervals, so that each monitor keeps its slot. */
export const CLOCK_STEP_REPAIR: Waits = {
  longestMs: sql`frequency * 60000`,
  leastMs: 5 * 60_000,
  again: (now) => sql`due_at - (due_at - ${now}) / (frequency * 60000) * (frequency * 60000)`,
}

/** Claims due checks, runs and records them. Runs until `stop`; `abandon` aborts checks in progress. */
export async function runCheckWorker(deps: CheckWorkerDeps, { stop, abandon }: Signals): Promise<void> {
  const { db, clock, log, loopHealth, wakeUps, process, metrics } = deps
  const inFlight = new InFlight<Claim<'due_checks'>>()
  const records = new WriteBatches<MonitorCheckResult>(
    async (results) => {
      const events = await recordChecks(db, results, clock.now(), (leases) => metrics?.lostLeases(leases))
      if (metrics) observeChecks(metrics, results, events)
      if (events === 0) return
      wakeUps.requests.send()
      wakeUps.evaluations.send()
      log.debug({ events }, 'Changes recorded.')
    },
    {
      clock,
      gatherMs: GATHER_MS,
      onWritten: () => loopHealth.recorded('checker'),
      onGivenUp: (err) => {
        loopHealth.notRecorded('checker', clock.elapsed())
        log.error({ err }, 'A check could not be recorded. It will be repeated.')
      },
    },
  )
  const load = monitorLoader(db, clock)
  let mustRelease = false
  let renewal: Promise<void> | undefined
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
      const capacity = Math.min(BATCH_SIZE, inFlight.capacity(clock.elapsed()))
      if (capacity === 0) return { restMs: GATHER_MS, isIdle: false }
      const claims = await claimInTurns(db, { now: clock.now(), process, limit: capacity }, inFlight.full())
      for (const claim of claims) {
        inFlight.start(claim, clock.elapsed())
        metrics?.late(clock.now() - claim.was_due_at)
        void check(claim)
      }
      const isIdle = claims.length === 0
      return { restMs: isIdle || claims.length === BATCH_SIZE ? 0 : GATHER_MS, isIdle }
    },
  })
  await inFlight.idle()
}

/** An organization with many checks in progress comes after the others. */
async function claimInTurns(
  db: Database,
  options: ClaimOptions,
  full: readonly string[],
): Promise<Claim<'due_checks'>[]> {
  if (full.length === 0) return await claimDue(db, 'due_checks', options)
  const others = await claimDue(db, 'due_checks', { ...options, without: full })
  const limit = options.limit - others.length
  return limit === 0 ? others : [...others, ...(await claimDue(db, 'due_checks', { ...options, limit }))]
}

/** Checks in progress for less than `SLOW_AFTER_MS`. Further due checks wait in the database, oldest first. */
export const MAX_FAST_IN_FLIGHT = 2_000
/** Including slow checks, which wait for slow or unresponsive servers and must not delay the others. */
export const MAX_IN_FLIGHT = 10_000
export const SLOW_AFTER_MS = 1_000
/** A claim of a few checks costs nearly as much as one of many, so smaller ones are not made. */
export const MIN_CLAIM = 250

/** An organization with more checks in progress than this comes after the others. */
export const MAX_IN_TURN = 1_000

/** Early enough that a renewal that waits for the database still comes in time. */
const RENEW_AFTER_MS = LEASE_MS / 4

type RunningCheck = { slot: number; organization_id: string }

/** The checks that have started and are not recorded yet. Times are the clock's elapsed milliseconds. */
export class InFlight<Check extends RunningCheck = RunningCheck> {
  /** With their start times, oldest first. */
  readonly #fast = new Map<Check, number>()
  readonly #slow = new Set<Check>()
  /** Without a result, with the start of their leases, the oldest first. */
  readonly #undecided = new Map<Check, number>()
  readonly #byOrganization = new Map<string, number>()
  #end: (() => void) | undefined

  start(check: Check, now: number): void {
    const { organization_id } = check
    this.#byOrganization.set(organization_id, (this.#byOrganization.get(organization_id) ?? 0) + 1)
    this.#fast.set(check, now)
    this.#undecided.set(check, now)
  }

  /** The check has a result, which is to be recorded. */
  decided(check: Check): void {
    this.#undecided.delete(check)
  }

  /** Those without a result whose leases began at that time or before. */
  undecidedSince(latest: number): Check[] {
    const found: Check[] = []
    for (const [check, leasedAt] of this.#undecided) {
      if (leasedAt > latest) break
      found.push(check)
    }
    return found
  }

  renewed(checks: readonly Check[], now: number): void {
    for (const check of checks) if (this.#undecided.delete(check)) this.#undecided.set(check, now)
  }

  finish(check: Check): void {
    this.#undecided.delete(check)
    const { organization_id } = check
    const count = (this.#byOrganization.get(organization_id) ?? 0) - 1
    if (count > 0) this.#byOrganization.set(organization_id, count)
    else this.#byOrganization.delete(organization_id)
    if (!this.#fast.delete(check)) this.#slow.delete(check)
    if (this.#isEmpty()) this.#end?.()
  }

  /** How many more may start: 0 or at least `MIN_CLAIM`. */
  capacity(now: number): number {
    for (const [check, startedAt] of this.#fast) {
      if (now - startedAt < SLOW_AFTER_MS) break
      this.#fast.delete(check)
      this.#slow.add(check)
    }
    const capacity = Math.min(MAX_FAST_IN_FLIGHT - this.#fast.size, MAX_IN_FLIGHT - this.#fast.size - this.#slow.size)
    return capacity < MIN_CLAIM ? 0 : capacity
  }

  /** The organizations with more than `MAX_IN_TURN` checks in progress. */
  full(): string[] {
    return [...this.#byOrganization].flatMap(([id, count]) => (count > MAX_IN_TURN ? [id] : []))
  }

  slots(): ReadonlySet<number> {
    return new Set([...this.#fast.keys(), ...this.#slow].map(({ slot }) => slot))
  }

  /** Resolves when no check is in progress. No more may start. */
  async idle(): Promise<void> {
    if (this.#isEmpty()) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#end = resolve
    await promise
  }

  #isEmpty(): boolean {
    return this.#fast.size + this.#slow.size === 0
  }
}
