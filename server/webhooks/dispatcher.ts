import type { Logger } from 'pino'
import { type Clock, watchClock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { LEASE_MS } from '../database/lease-queue.ts'
import { isDatabaseUnavailable } from '../database/unavailable.ts'
import { WriteBatches } from '../database/write-batches.ts'
import type { LoopHealth } from '../loop-health.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { SafeFetch } from '../safe-http/safe-fetch.ts'
import type { Seal } from '../seal.ts'
import type { WakeUp } from '../wake-up.ts'
import { type AttemptResult, attempt, kindOf } from './attempt.ts'
import { bodyOf, type ClaimedRequest } from './claimed.ts'
import { claimRequests, QUEUES_PER_ROUND } from './claims.ts'
import { repairAfterClockStep } from './clock-step.ts'
import { type DispatcherLimits, EndpointQueues, type Flight } from './endpoint-queues.ts'
import { fanOut, type Turn } from './fan-out.ts'
import { releaseOrphanedClaims } from './orphaned-claims.ts'
import { pausesWebhook, type Recorded, recordAttempts } from './record.ts'
import { maySend, Targets } from './targets.ts'

export type DispatcherDeps = {
  db: Database
  clock: Clock
  safeFetch: SafeFetch
  seal: Seal
  log: Logger
  loopHealth: LoopHealth
  /** Rings when requests were written in this process. */
  wakeUp: WakeUp
  process: number
  metrics?: Metrics
}

/** How long the courier rests when nothing rings: the longest that what another process wrote waits here. */
const IDLE_MS = 75
/** What is recorded together touches the same pages, and each is written once. */
const GATHER_MS = 30
const RECORDED_TOGETHER = 2_000
/** After a look that found something: what has capacity meanwhile is claimed together. */
const LOOK_AGAIN_MS = 5
/** A claim older than this is given back, because an attempt may take the rest of its lease. */
const START_WITHIN_MS = 8_000

/**
 * The loop that sends what is due. Each webhook is a queue of its own: one that is slow or far behind takes none of another's
 * capacity. Runs until `stop`; what is under way then is finished, or given up when `abandon` is aborted.
 */
export async function runDispatcher(
  deps: DispatcherDeps,
  { stop, abandon }: { stop: AbortSignal; abandon: AbortSignal },
  limits: DispatcherLimits,
): Promise<void> {
  const { clock, log, loopHealth, wakeUp } = deps
  const queues = new EndpointQueues(limits)
  const targets = new Targets(deps.db, deps.seal)
  const underWay = new Set<Promise<void>>()
  const records = new WriteBatches<Recorded>((items) => record(items, deps), {
    clock,
    gatherMs: GATHER_MS,
    most: RECORDED_TOGETHER,
    onGivenUp: (err) => log.error({ err }, 'A delivery attempt could not be recorded. It will be repeated.'),
  })

  // A fault of ours must neither end the process nor be met again at once: it counts as an attempt that failed.
  const brokenOff = ({ claim }: ClaimedRequest, err: unknown): AttemptResult => {
    log.error({ err, request: claim.request_id }, 'A delivery attempt was interrupted. It counts as failed.')
    const error = 'internal error while sending; see the server log'
    const nothing = { statusCode: null, excerpt: null, timings: { totalMs: 0 }, delivered: false, gone: false }
    return { at: clock.now(), error, ...nothing }
  }
  /** What is sent is decided here, and on a connection that had to be opened once more. Null: it is not sent. */
  const tried = async (claimed: ClaimedRequest): Promise<AttemptResult | null> => {
    const { webhook_id: webhookId, request_id: id, occasion, due_at } = claimed.claim
    while (clock.now() <= due_at - LEASE_MS + START_WITHIN_MS) {
      const target = await targets.current(webhookId, claimed.target)
      if (!target || !maySend(target, occasion)) return null
      claimed.target = target
      const { url, headers, secret } = target
      const previousSecret = target.previousSecretUntil > clock.now() ? target.previousSecret : undefined
      const result = await attempt({ id, url, headers, body: bodyOf(claimed.stored), secret, previousSecret }, deps, {
        signal: abandon,
        mayWrite: () => targets.isCurrent(webhookId, target),
      })
      if (result !== 'withdrawn') return result
    }
    return null
  }
  const send = async (flight: Flight) => {
    const { claimed } = flight
    const result = await tried(claimed).catch((err) => (isDatabaseUnavailable(err) ? null : brokenOff(claimed, err)))
    deps.metrics?.delivery(kindOf(result), result?.timings.totalMs)
    const isPausing = result !== null && pausesWebhook(claimed, result, clock.now())
    if (queues.ended(flight, result, clock.elapsed(), isPausing)) wakeUp.send()
    startAll()
    if (!abandon.aborted) await records.add({ claimed, result })
    queues.settled(claimed, isPausing)
    if (isPausing) startAll()
  }
  const startAll = () => {
    if (stop.aborted) return
    for (let flight = queues.start(clock.elapsed()); flight; flight = queues.start(clock.elapsed())) {
      const sent = send(flight).finally(() => underWay.delete(sent))
      underWay.add(sent)
    }
  }

  const wasSetBack = watchClock(clock)
  let isPlanned = false
  let mayHaveOrphans = false
  const turn: Turn = { after: '' }
  while (!stop.aborted) {
    loopHealth.beat('courier', clock.elapsed())
    try {
      if (wasSetBack()) isPlanned = false
      if (!isPlanned) await repairAfterClockStep(deps.db, { now: clock.now(), process: deps.process })
      isPlanned = true
      if (mayHaveOrphans) await releaseOrphanedClaims(deps.db, deps.process, queues.held(), clock.now())
      mayHaveOrphans = false
      const written = await fanOut(deps.db, turn, clock.now())
      const looked = await claimRound(deps, queues)
      startAll()
      if (looked > 0 && looked < QUEUES_PER_ROUND) await clock.sleep(LOOK_AGAIN_MS, stop)
      if (looked < QUEUES_PER_ROUND && written === undefined) await wakeUp.wait(IDLE_MS, clock, stop)
    } catch (err) {
      mayHaveOrphans = true // the answer to a commit may be what was lost
      log.error({ err }, 'Due webhook requests cannot be read. Retrying.')
      await clock.sleep(1_000, stop)
    }
  }
  await Promise.allSettled(underWay)
}

/** Claims what there is capacity for. Returns how many webhooks that took a look at. */
async function claimRound({ db, clock, seal, process }: DispatcherDeps, queues: EndpointQueues): Promise<number> {
  const capacity = queues.capacity()
  if (capacity === 0) return 0
  const now = clock.now()
  const refill = queues.refill(QUEUES_PER_ROUND)
  const capacityOf = (webhookId: string) => queues.capacityOf(webhookId)
  const { claimed, full, looked } = await claimRequests(db, seal, { now, process, refill, capacity, capacityOf })
  queues.take(claimed, full)
  return looked
}

async function record(items: Recorded[], { db, clock, log }: DispatcherDeps): Promise<void> {
  const changes = await recordAttempts(db, items, clock.now())
  for (const { state, ...webhook } of changes) {
    if (state === 'active') log.info(webhook, 'A webhook is active again. Its queued requests are being sent.')
    else log.warn(webhook, 'A webhook is paused because its endpoint failed for too long. Its requests are queued.')
  }
}
