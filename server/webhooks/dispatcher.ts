import { isDatabaseUnavailable } from '../database/unavailable.ts'
import type { Keyring } from '../keyring.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { CompletedSpan, Tracing } from '../metrics/tracing.ts'
import { LEASE_MS } from '../queue/lease-queue.ts'
import type { WakeUps } from '../queue/wake-up.ts'
import { runWorker, type Signals, type WorkerDeps } from '../queue/worker-loop.ts'
import { WriteBatches } from '../queue/write-batches.ts'
import type { SafeFetch } from '../safe-http/safe-fetch.ts'
import { type AttemptResult, attempt, metricResultOf } from './attempt.ts'
import { type ClaimedRequest, claimRequests, WEBHOOK_BATCH_SIZE } from './claim-requests.ts'
import { repairRequests } from './clock-step.ts'
import { type FanOutPosition, fanOut } from './deferred-fan-out.ts'
import { type Active, type ClaimTraits, type DispatcherLimits, InMemoryQueues } from './in-memory-queues.ts'
import { type ProcessedRequest, pausesWebhook, recordAttempts } from './record-attempts.ts'
import { requestBody } from './request-body.ts'
import { mayAttempt, Targets } from './targets.ts'

export type DispatcherDeps = WorkerDeps & {
  safeFetch: SafeFetch
  keyring: Keyring
  wakeUps: WakeUps
  metrics?: Metrics
  tracing?: Tracing | undefined
}

/** Results are collected this long and recorded together, because they touch the same pages of the database. */
const RECORD_DELAY_MS = 30
const RECORD_BATCH_SIZE = 2_000
/** The pause after a pass that found something, so that freed capacity is claimed together. */
const CLAIM_PAUSE_MS = 5
/** A claim that is older is released, because an attempt may take the rest of its lease. */
const MAX_CLAIM_AGE_MS = 8_000

/** Each webhook has a queue. */
export const BY_WEBHOOK: ClaimTraits<ClaimedRequest> = {
  queueOf: ({ claim }) => claim.webhook_id,
  organizationOf: ({ organizationId }) => organizationId,
  hostOf: ({ target }) => URL.parse(target.url)?.host ?? null,
  idOf: ({ claim }) => claim.request_id,
  isManual: ({ claim }) => claim.trigger === 'manual',
}

/**
 * The loop that sends due requests. Each webhook has its own queue, so a slow or backlogged one takes no capacity of the
 * others. Runs until `stop`; then it finishes the attempts in progress, or aborts them when `abandon` is aborted.
 */
export async function runDispatcher(
  deps: DispatcherDeps,
  { stop, abandon }: Signals,
  limits: DispatcherLimits,
): Promise<void> {
  const { clock, log, loopHealth, wakeUps } = deps
  const queues = new InMemoryQueues(limits, BY_WEBHOOK)
  const targets = new Targets(deps.db, deps.keyring)
  const inFlight = new Set<Promise<void>>()
  const records = new WriteBatches<ProcessedRequest>((items) => record(items, deps), {
    clock,
    gatherMs: RECORD_DELAY_MS,
    maxBatchSize: RECORD_BATCH_SIZE,
    onWritten: () => loopHealth.recorded('delivery'),
    onGivenUp: (err) => {
      loopHealth.notRecorded('delivery', clock.elapsed())
      log.error({ err }, 'A delivery attempt could not be recorded. It will be repeated.')
    },
  })

  /** Null: the request may not be sent any more, or not in the time left. */
  const attemptClaimed = async (claimed: ClaimedRequest): Promise<AttemptResult | null> => {
    const { webhook_id, request_id: id, trigger, due_at } = claimed.claim
    const webhook = { organizationId: claimed.organizationId, id: webhook_id }
    while (clock.now() <= due_at - LEASE_MS + MAX_CLAIM_AGE_MS) {
      const target = await targets.current(webhook, claimed.target)
      if (!target || !mayAttempt(target, trigger)) return null
      claimed.target = target
      const { url, headers, secret } = target
      const previousSecret = target.previousSecretUntil > clock.now() ? target.previousSecret : undefined
      const result = await attempt(
        { id, url, headers, body: requestBody(claimed.stored), secret, previousSecret },
        deps,
        {
          signal: abandon,
          mayWrite: () => targets.isCurrent(webhook, target),
        },
      )
      if (result !== 'withdrawn') return result
    }
    return null
  }
  // A bug must not end the process or repeat at once: it counts as a failed attempt.
  const internalError = ({ claim }: ClaimedRequest, err: unknown): AttemptResult => {
    log.error({ err, request: claim.request_id }, 'A delivery attempt was interrupted. It counts as failed.')
    const error = 'internal error while sending; see the server log'
    return {
      at: clock.now(),
      error,
      statusCode: null,
      excerpt: null,
      timings: { totalMs: 0 },
      delivered: false,
      gone: false,
    }
  }
  const send = async (active: Active<ClaimedRequest>) => {
    const { claimed } = active
    const result = await attemptClaimed(claimed).catch((err) =>
      isDatabaseUnavailable(err) ? null : internalError(claimed, err),
    )
    if (result) deps.tracing?.record(spanOf(claimed, result))
    deps.metrics?.delivery(metricResultOf(result), result?.timings.totalMs)
    const isPausing = result !== null && pausesWebhook(claimed, result, clock.now())
    if (queues.finish(active, result, clock.elapsed(), isPausing)) wakeUps.requests.receive()
    startAll()
    if (!abandon.aborted) await records.add({ claimed, result })
    queues.release(claimed, isPausing)
    if (isPausing) startAll()
  }
  const startAll = () => {
    if (stop.aborted) return
    for (let active = queues.start(clock.elapsed()); active; active = queues.start(clock.elapsed())) {
      const sent = send(active).finally(() => inFlight.delete(sent))
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
      const fannedOut = await fanOut(deps.db, position, clock.now())
      const webhookCount = await claim(deps, queues)
      startAll()
      const isFull = webhookCount === WEBHOOK_BATCH_SIZE
      return { restMs: webhookCount > 0 && !isFull ? CLAIM_PAUSE_MS : 0, isIdle: !isFull && fannedOut === undefined }
    },
  })
  await Promise.allSettled(inFlight)
}

/** Claims requests up to the free capacity. Returns how many webhooks it checked. */
async function claim(
  { db, clock, keyring, process }: DispatcherDeps,
  queues: InMemoryQueues<ClaimedRequest>,
): Promise<number> {
  const capacity = queues.capacity()
  if (capacity === 0) return 0
  const refill = queues.refill(WEBHOOK_BATCH_SIZE)
  const capacityOf = (webhookId: string) => queues.capacityOf(webhookId)
  const capacityOfOrganization = (id: string) => queues.capacityOfOrganization(id)
  const options = { now: clock.now(), process, refill, capacity, capacityOf, capacityOfOrganization }
  const { claimed, backlogged, webhookCount } = await claimRequests(db, keyring, options)
  queues.take(claimed, backlogged)
  return webhookCount
}

function spanOf({ claim, organizationId }: ClaimedRequest, result: AttemptResult): CompletedSpan {
  return {
    name: 'delivery',
    kind: 'client',
    startedAt: result.at,
    endedAt: result.at + result.timings.totalMs,
    attributes: {
      'zonewatch.organization_id': organizationId,
      'zonewatch.webhook_id': claim.webhook_id,
      'zonewatch.request_id': claim.request_id,
      'zonewatch.result': metricResultOf(result),
      ...(result.statusCode === null ? {} : { 'http.response.status_code': result.statusCode }),
    },
    isFailed: !result.delivered,
  }
}

async function record(items: ProcessedRequest[], { db, clock, log, wakeUps }: DispatcherDeps): Promise<void> {
  const changes = await recordAttempts(db, items, clock.now())
  if (changes.length > 0) wakeUps.mails.send()
  // Requests of a resumed webhook and released requests are due now.
  if (changes.length > 0 || items.some(({ result }) => result === null)) wakeUps.requests.receive()
  for (const { state, isGone, ...webhook } of changes) {
    if (state === 'active') log.info(webhook, 'A webhook is active again. Its queued requests are being sent.')
    else
      log.warn(
        webhook,
        `A webhook is paused: ${isGone ? 'its endpoint answered 410 Gone' : 'its endpoint failed for almost two days'}. Its requests are queued.`,
      )
  }
}
