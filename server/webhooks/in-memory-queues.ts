import type { TenantId } from '../database/bulk.ts'
import { MAX_MANUAL } from './claim-requests.ts'

export type DispatcherLimits = {
  /** Concurrent requests of all webhooks, not counting slow ones. */
  total: number
  /** Concurrent requests of one webhook. */
  perWebhook: number
}

/** What a claim is about: a request to a webhook, or an alert to a channel. */
export type ClaimTraits<T> = {
  /** The destination, which has a queue and a limit of its own. */
  queueOf(claimed: T): string
  /** Organizations take turns, and share what can be claimed and what may be slow. */
  organizationOf(claimed: T): string
  /** The host of the destination, whose slow requests have a limit too. Null if it is not known yet. */
  hostOf(claimed: T): string | null
  idOf(claimed: T): string
  isManual(claimed: T): boolean
}

/** A request that takes longer than this is slow, and another may start. */
const SLOW_MS = 250
/** At most this many times `total` slow requests at a time: each needs a socket and little else. */
const SLOW_FACTOR = 10
/** At most this many times `total` claimed requests wait here, so that the next ones start without a query. */
const AHEAD_FACTOR = 5
/** A claimed request should start within this, so that few claims are released when the webhook changes. */
const AHEAD_MS = 1_000
const MAX_AHEAD = 1_024
const FIRST_WINDOW = 2
/** What one organization may have of the claimed and of the slow requests that others leave, and one host of the slow ones. */
const ORGANIZATION_SHARE = 1 / 2
const HOST_SHARE = 1 / 8
const MAX_QUEUES = 20_000

type InMemoryQueue<T> = {
  organization: string
  host: string | null
  waiting: T[]
  manual: T[]
  inFlight: number
  manualInFlight: number
  /** The current limit of concurrent requests: grows by one with every response, and is 1 after an attempt without one. */
  window: number
  /** Moving average of the duration of an attempt; 0 before the first. */
  averageMs: number
  /** Attempts that will pause the webhook once they are recorded. */
  pausing: number
}

/** A request in progress. */
export type Active<T> = { claimed: T; timing: Timing }
type Timing = { startedAt: number; isSlow: boolean; organization: string; host: string | null }

/**
 * The claimed requests of this process, by webhook, and its claimed alerts, by channel. Each destination has its own queue and limit,
 * and slow requests do not use up the shared limit. Instants are those of `Clock.elapsed()`.
 */
export class InMemoryQueues<T> {
  readonly #limits: DispatcherLimits
  readonly #traits: ClaimTraits<T>
  readonly #queues = new Map<string, InMemoryQueue<T>>()
  /** Webhooks that may have a request to start, by organization, both in round-robin order. */
  readonly #ready = new Map<string, Set<string>>()
  /** Webhooks that have more due requests in the database. */
  readonly #backlogged = new Map<string, TenantId>()
  /**
   * Requests that are not slow yet, in the order of their start. Only their timings: the old tables of a growing Set keep
   * removed members in memory, and with the requests they would keep their bodies.
   */
  readonly #fast = new Set<Timing>()
  #slow = 0
  readonly #slowByOrganization = new Counts()
  readonly #slowByHost = new Counts()
  readonly #slowByOrganizationAndHost = new Counts()
  readonly #held = new Set<string>()
  readonly #heldByOrganization = new Counts()

  constructor(limits: DispatcherLimits, traits: ClaimTraits<T>) {
    this.#limits = limits
    this.#traits = traits
  }

  /** How many more requests may be claimed in total. */
  capacity(): number {
    return Math.max(0, this.#maxHeld() - this.#held.size)
  }

  /** How many more requests of one organization may be claimed: a part of what the others leave, so that something is always left. */
  capacityOfOrganization(id: string): number {
    const own = this.#heldByOrganization.of(id)
    return Math.max(0, Math.floor((this.#maxHeld() - this.#held.size + own) * ORGANIZATION_SHARE) - own)
  }

  /** How many more requests of one webhook may be claimed: as many as can start soon. */
  capacityOf(webhookId: string): number {
    const queue = this.#queues.get(webhookId)
    if (!queue) return Math.min(FIRST_WINDOW, this.#limits.perWebhook)
    if (queue.pausing > 0) return 0
    const rounds = Math.max(1, Math.floor(AHEAD_MS / Math.max(queue.averageMs, 1)))
    const isSteady = queue.window === this.#limits.perWebhook && queue.averageMs > 0
    const limit = isSteady ? Math.max(queue.window, Math.min(queue.window * rounds, MAX_AHEAD)) : queue.window
    return Math.max(0, limit - queue.waiting.length - queue.inFlight)
  }

  /** Backlogged webhooks that have capacity again. */
  refill(limit: number): TenantId[] {
    const webhooks: TenantId[] = []
    for (const [id, webhook] of this.#backlogged) {
      if (webhooks.length === limit) break
      if (this.#isLow(id)) webhooks.push(webhook)
    }
    for (const { id } of webhooks) this.#backlogged.delete(id)
    return webhooks
  }

  take(claimed: readonly T[], backlogged: readonly TenantId[]): void {
    for (const request of claimed) {
      const id = this.#traits.queueOf(request)
      const queue = this.#queueOf(id, request)
      queue.host = this.#traits.hostOf(request)
      if (this.#traits.isManual(request)) queue.manual.push(request)
      else queue.waiting.push(request)
      const before = this.#held.size
      this.#held.add(this.#traits.idOf(request))
      if (this.#held.size > before) this.#heldByOrganization.add(queue.organization, 1)
      this.#makeReady(id, queue)
    }
    for (const webhook of backlogged) this.#backlogged.set(webhook.id, webhook)
  }

  /** Starts the next request, or returns undefined if there is none or no capacity. */
  start(now: number): Active<T> | undefined {
    this.#moveSlow(now)
    if (this.#fast.size >= this.#limits.total) return undefined
    for (const [organization, ids] of this.#ready) {
      const started = this.#startOf(organization, ids, now)
      if (ids.size === 0 || started) this.#ready.delete(organization)
      if (!started) continue
      if (ids.size > 0) this.#ready.set(organization, ids)
      return started
    }
    return undefined
  }

  #startOf(organization: string, ids: Set<string>, now: number): Active<T> | undefined {
    if (!this.#mayBeSlow(this.#slowByOrganization.of(organization), ORGANIZATION_SHARE)) return undefined
    for (const id of ids) {
      const queue = this.#queues.get(id)!
      const { host } = queue
      if (queue.window === 1 && queue.averageMs >= SLOW_MS && this.#isSlowFull()) continue
      if (host !== null && !this.#mayBeSlowAt(host, organization)) continue
      const claimed = this.#next(queue)
      ids.delete(id)
      if (!claimed) continue
      ids.add(id)
      const timing = { startedAt: now, isSlow: false, organization, host }
      this.#fast.add(timing)
      return { claimed, timing }
    }
    return undefined
  }

  /**
   * Frees the capacity of a request. One that pauses its webhook stops the queue until it is released. Returns whether more
   * requests of the webhook can be claimed now.
   */
  finish(
    { claimed, timing }: Active<T>,
    result: { statusCode: number | null } | null,
    now: number,
    isPausing = false,
  ): boolean {
    const id = this.#traits.queueOf(claimed)
    const queue = this.#queues.get(id)!
    if (this.#traits.isManual(claimed)) queue.manualInFlight--
    else queue.inFlight--
    if (isPausing) queue.pausing++
    if (timing.isSlow) this.#countSlow(timing, -1)
    else this.#fast.delete(timing)
    if (result) {
      const ms = now - timing.startedAt
      queue.averageMs = queue.averageMs === 0 ? Math.max(ms, 1) : queue.averageMs * 0.8 + ms * 0.2
      queue.window = result.statusCode === null ? 1 : Math.min(queue.window + 1, this.#limits.perWebhook)
    }
    if (queue.waiting.length + queue.manual.length > 0) this.#makeReady(id, queue)
    this.#keep(id, queue)
    return this.#backlogged.has(id) && this.#isLow(id)
  }

  /** The request is recorded, and its lease is over. `isPausing`: the same as in `finish`. */
  release(claimed: T, isPausing = false): void {
    const isHeld = this.#held.delete(this.#traits.idOf(claimed))
    if (isHeld) this.#heldByOrganization.add(this.#traits.organizationOf(claimed), -1)
    const id = this.#traits.queueOf(claimed)
    const queue = isPausing ? this.#queues.get(id) : undefined
    if (!queue) return
    queue.pausing--
    this.#makeReady(id, queue)
  }

  /** The destinations of which nothing more may be claimed now. */
  full(): string[] {
    return [...this.#queues.keys()].filter((id) => this.capacityOf(id) === 0)
  }

  /** The ids of the requests that this process has leased. */
  held(): ReadonlySet<string> {
    return this.#held
  }

  #maxHeld(): number {
    return this.#limits.total * (1 + SLOW_FACTOR + AHEAD_FACTOR)
  }

  #makeReady(id: string, { organization }: InMemoryQueue<T>): void {
    const ids = this.#ready.get(organization)
    if (ids) ids.add(id)
    else this.#ready.set(organization, new Set([id]))
  }

  #queueOf(webhookId: string, claimed: T): InMemoryQueue<T> {
    const existing = this.#queues.get(webhookId)
    if (existing) return existing
    const window = Math.min(FIRST_WINDOW, this.#limits.perWebhook)
    const queue: InMemoryQueue<T> = {
      ...{ organization: this.#traits.organizationOf(claimed), host: null },
      ...{ waiting: [], manual: [], inFlight: 0, manualInFlight: 0, window, averageMs: 0, pausing: 0 },
    }
    this.#queues.set(webhookId, queue)
    return queue
  }

  #next(queue: InMemoryQueue<T>): T | undefined {
    if (queue.manual.length > 0 && queue.manualInFlight < MAX_MANUAL) {
      queue.manualInFlight++
      return queue.manual.shift()
    }
    if (queue.waiting.length === 0 || queue.inFlight >= queue.window || queue.pausing > 0) return undefined
    queue.inFlight++
    return queue.waiting.shift()
  }

  #isLow(webhookId: string): boolean {
    const capacity = this.capacityOf(webhookId)
    const waiting = this.#queues.get(webhookId)?.waiting.length ?? 0
    return capacity > 0 && waiting <= capacity
  }

  #moveSlow(now: number): void {
    for (const timing of this.#fast) {
      if (now - timing.startedAt < SLOW_MS || this.#isSlowFull()) return
      this.#fast.delete(timing)
      timing.isSlow = true
      this.#countSlow(timing, 1)
    }
  }

  #countSlow({ organization, host }: Timing, change: 1 | -1): void {
    this.#slow += change
    this.#slowByOrganization.add(organization, change)
    if (host === null) return
    this.#slowByHost.add(host, change)
    this.#slowByOrganizationAndHost.add(`${organization} ${host}`, change)
  }

  /** Organizations share what a host may have, so that none can take the host of another one's endpoint. */
  #mayBeSlowAt(host: string, organization: string): boolean {
    const own = this.#slowByOrganizationAndHost.of(`${organization} ${host}`)
    if (own === 0) return true
    const others = this.#slowByHost.of(host) - own
    return own < ((this.#limits.total * SLOW_FACTOR - this.#slow + own) * HOST_SHARE - others) * ORGANIZATION_SHARE
  }

  /** Whether one that has `own` slow requests may start another: it may have a part of what the others leave. */
  #mayBeSlow(own: number, share: number): boolean {
    return own === 0 || own < (this.#limits.total * SLOW_FACTOR - this.#slow + own) * share
  }

  #isSlowFull(): boolean {
    return this.#slow >= this.#limits.total * SLOW_FACTOR
  }

  /** Keeps window and average of the webhooks used last for their next requests. */
  #keep(webhookId: string, queue: InMemoryQueue<T>): void {
    if (isBusy(queue)) return
    this.#queues.delete(webhookId)
    this.#queues.set(webhookId, queue)
    if (this.#queues.size <= MAX_QUEUES) return
    for (const [id, candidate] of this.#queues) {
      if (isBusy(candidate)) continue
      this.#queues.delete(id)
      return
    }
  }
}

const isBusy = ({ inFlight, manualInFlight, waiting, manual, pausing }: InMemoryQueue<unknown>): boolean =>
  inFlight + manualInFlight + waiting.length + manual.length + pausing > 0

/** Counts by key, without those that are 0. */
class Counts {
  readonly #counts = new Map<string, number>()

  of(key: string): number {
    return this.#counts.get(key) ?? 0
  }

  add(key: string, change: number): void {
    const count = this.of(key) + change
    if (count === 0) this.#counts.delete(key)
    else this.#counts.set(key, count)
  }
}
