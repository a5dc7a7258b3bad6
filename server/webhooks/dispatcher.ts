import { LEASE_MS } from '../database/lease-queue.ts'
import { isDatabaseUnavailable } from '../database/unavailable.ts'
import { runWorker, type Signals, type WorkerDeps } from '../database/worker-loop.ts'
import { WriteBatches } from '../database/write-batches.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { CompletedSpan, Tracing } from '../metrics/tracing.ts'
import type { SafeFetch } from '../safe-http/safe-fetch.ts'
import type { Seal } from '../seal.ts'
import type { WakeUps } from '../wake-up.ts'
import { type AttemptResult, attempt, kindOf } from './attempt.ts'
import { type ClaimedRequest, requestBody } from './claimed.ts'
import { claimRequests, WEBHOOK_BATCH_SIZE } from './claims.ts'
import { repairRequests } from './clock-step.ts'
import { type DispatcherLimits, EndpointQueues, type Flight } from './endpoint-queues.ts'
import { type FanOutPosition, fanOut } from './fan-out.ts'
import { type ProcessedRequest, pausesWebhook, recordAttempts } from './record.ts'
import { maySend, Targets } from './targets.ts'

export type DispatcherDeps = WorkerDeps & {
  safeFetch: SafeFetch
  seal: Seal
  wakeUps: WakeUps
  metrics?: Metrics
  tracing?: Tracing | undefined
}

/** What is recorded together touches the same pages, and each is written once. */
const GATHER_MS = 30
const RECORDED_TOGETHER = 2_000
/** After a look that found something: what has capacity meanwhile is claimed together. */
const LOOK_AGAIN_MS = 5
/** A claim older than this is given back, because an attempt may take the rest of its lease. */
const START_WITHIN_MS = 8_000

/**
 * The loop that sends what is due. Each webhook is a queue of its own: one that is slow or far behind takes none of another's
 * capacity. Runs until `stop`; what is in progress then is finished, or given up when `abandon` is aborted.
 */
export async function runDispatcher(
  deps: DispatcherDeps,
  { stop, abandon }: Signals,
  limits: DispatcherLimits,
): Promise<void> {
  const { clock, log, wakeUps } = deps
  const queues = new EndpointQueues(limits)
  const targets = new Targets(deps.db, deps.seal)
  const inFlight = new Set<Promise<void>>()
  const records = new WriteBatches<ProcessedRequest>((items) => record(items, deps), {
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
    const { webhook_id: webhookId, request_id: id, trigger, due_at } = claimed.claim
    while (clock.now() <= due_at - LEASE_MS + START_WITHIN_MS) {
      const target = await targets.current(webhookId, claimed.target)
      if (!target || !maySend(target, trigger)) return null
      claimed.target = target
      const { url, headers, secret } = target
      const previousSecret = target.previousSecretUntil > clock.now() ? target.previousSecret : undefined
      const result = await attempt(
        { id, url, headers, body: requestBody(claimed.stored), secret, previousSecret },
        deps,
        {
          signal: abandon,
          mayWrite: () => targets.isCurrent(webhookId, target),
        },
      )
      if (result !== 'withdrawn') return result
    }
    return null
  }
  const send = async (flight: Flight) => {
    const { claimed } = flight
    const result = await tried(claimed).catch((err) => (isDatabaseUnavailable(err) ? null : brokenOff(claimed, err)))
    if (result) deps.tracing?.record(spanOf(claimed, result))
    deps.metrics?.delivery(kindOf(result), result?.timings.totalMs)
    const isPausing = result !== null && pausesWebhook(claimed, result, clock.now())
    if (queues.ended(flight, result, clock.elapsed(), isPausing)) wakeUps.requests.receive()
    startAll()
    if (!abandon.aborted) await records.add({ claimed, result })
    queues.settled(claimed, isPausing)
    if (isPausing) startAll()
  }
  const startAll = () => {
    if (stop.aborted) return
    for (let flight = queues.start(clock.elapsed()); flight; flight = queues.start(clock.elapsed())) {
      const sent = send(flight).finally(() => inFlight.delete(sent))
      inFlight.add(sent)
    }
  }

  const position: FanOutPosition = { after: '' }
  await runWorker(deps, stop, {
    name: 'delivery',
    table: 'due_requests',
    plannedIn: 'due_webhooks',
    wakeUp: wakeUps.requests,
    failure: 'Due webhook requests cannot be read. Retrying.',
    repair: (self) => repairRequests(deps.db, self),
    held: () => queues.held(),
    pass: async () => {
      const written = await fanOut(deps.db, position, clock.now())
      const looked = await claimRound(deps, queues)
      startAll()
      const isFull = looked === WEBHOOK_BATCH_SIZE
      return { restMs: looked > 0 && !isFull ? LOOK_AGAIN_MS : 0, isIdle: !isFull && written === undefined }
    },
  })
  await Promise.allSettled(inFlight)
}

/** Claims what there is capacity for. Returns how many webhooks that took a look at. */
async function claimRound({ db, clock, seal, process }: DispatcherDeps, queues: EndpointQueues): Promise<number> {
  const capacity = queues.capacity()
  if (capacity === 0) return 0
  const now = clock.now()
  const refill = queues.refill(WEBHOOK_BATCH_SIZE)
  const capacityOf = (webhookId: string) => queues.capacityOf(webhookId)
  const { claimed, backlogged, webhookCount } = await claimRequests(db, seal, {
    now,
    process,
    refill,
    capacity,
    capacityOf,
  })
  queues.take(claimed, backlogged)
  return webhookCount
}

function spanOf({ claim, organizationId }: ClaimedRequest, result: AttemptResult): CompletedSpan {
  const attributes = {
    'zonewatch.organization_id': organizationId,
    'zonewatch.webhook_id': claim.webhook_id,
    'zonewatch.request_id': claim.request_id,
    'zonewatch.result': kindOf(result),
    ...(result.statusCode === null ? {} : { 'http.response.status_code': result.statusCode }),
  }
  const { at: startedAt, timings, delivered } = result
  return {
    name: 'delivery',
    kind: 'client',
    startedAt,
    endedAt: startedAt + timings.totalMs,
    attributes,
    isFailed: !delivered,
  }
}

async function record(items: ProcessedRequest[], { db, clock, log, wakeUps }: DispatcherDeps): Promise<void> {
  const changes = await recordAttempts(db, items, clock.now())
  if (changes.length > 0) wakeUps.mails.send()
  // What was kept during a pause, or was given back, is due now.
  if (changes.length > 0 || items.some(({ result }) => result === null)) wakeUps.requests.receive()
  for (const { state, ...webhook } of changes) {
    if (state === 'active') log.info(webhook, 'A webhook is active again. Its queued requests are being sent.')
    else log.warn(webhook, 'A webhook is paused because its endpoint failed for too long. Its requests are queued.')
  }
}
