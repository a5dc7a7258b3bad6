import type { AttemptResult } from './attempt.ts'
import type { ClaimedRequest } from './claimed.ts'

export type DispatcherLimits = {
  /** Requests in progress at a time over all webhooks, slow ones left out. */
  inAll: number
  /** Requests in progress at a time for one webhook. */
  perWebhook: number
}

/** A request that takes longer than this makes capacity for another. */
const SLOW_MS = 250
/** So many times `inAll` may be slow at a time: each costs a socket and waits for somebody else. */
const SLOW_FACTOR = 10
/** So many times `inAll` may wait here, claimed, so that the next ones need no look at the database first. */
const AHEAD_FACTOR = 5
/** A claimed request is to start within this. Anyone who claims little has little to give back when its webhook changes. */
const AHEAD_MS = 1_000
const MOST_AHEAD = 1_024
/** Beside the others of the webhook, because a person waits. */
const MAX_MANUAL = 2
const FIRST_WINDOW = 2
const MOST_KNOWN = 20_000

type EndpointQueue = {
  waiting: ClaimedRequest[]
  manual: ClaimedRequest[]
  inFlight: number
  manualInFlight: number
  /** How many at a time, now: small at first, more with every answer, one where none comes. */
  window: number
  /** Milliseconds that an attempt takes, smoothed; 0 before the first. */
  pace: number
  /** Attempts that pause the webhook and are not recorded yet. */
  pausing: number
}

/** A request in progress. */
export type Flight = { claimed: ClaimedRequest; timing: Timing }
type Timing = { startedAt: number; isSlow: boolean }

/**
 * What this process has claimed, by webhook. Each webhook is a queue with its own bound, and those that keep us waiting do
 * not use up what the others share. Instants are of `Clock.elapsed()`.
 */
export class EndpointQueues {
  readonly #limits: DispatcherLimits
  readonly #queues = new Map<string, EndpointQueue>()
  /** EndpointQueues with something to start, in turn. */
  readonly #ready = new Set<string>()
  /** EndpointQueues that had more than we took. */
  readonly #full = new Set<string>()
  /**
   * Not yet slow, in the order of their start. Not the flights themselves: the tables that a busy Set outgrows keep its former
   * members in memory for long, here with bodies and answers.
   */
  readonly #quick = new Set<Timing>()
  #slow = 0
  readonly #held = new Set<string>()

  constructor(limits: DispatcherLimits) {
    this.#limits = limits
  }

  /** How many more requests may be claimed in all. */
  capacity(): number {
    return Math.max(0, this.#limits.inAll * (1 + SLOW_FACTOR + AHEAD_FACTOR) - this.#held.size)
  }

  /** How many more of one webhook's: as many as can start soon at its pace. */
  capacityOf(webhookId: string): number {
    const queue = this.#queues.get(webhookId)
    if (!queue) return Math.min(FIRST_WINDOW, this.#limits.perWebhook)
    if (queue.pausing > 0) return 0
    const rounds = Math.max(1, Math.floor(AHEAD_MS / Math.max(queue.pace, 1)))
    const isSteady = queue.window === this.#limits.perWebhook && queue.pace > 0
    const most = isSteady ? Math.max(queue.window, Math.min(queue.window * rounds, MOST_AHEAD)) : queue.window
    return Math.max(0, most - queue.waiting.length - queue.inFlight)
  }

  /** Webhooks that had more, and can take it now. */
  refill(most: number): string[] {
    const ids: string[] = []
    for (const id of this.#full) {
      if (ids.length === most) break
      if (this.#isLow(id)) ids.push(id)
    }
    for (const id of ids) this.#full.delete(id)
    return ids
  }

  /** `full`: webhooks that have more than this. */
  take(claimed: readonly ClaimedRequest[], full: readonly string[]): void {
    for (const each of claimed) {
      const { webhook_id: id, trigger } = each.claim
      const queue = this.#laneOf(id)
      if (trigger === 'manual') queue.manual.push(each)
      else queue.waiting.push(each)
      this.#held.add(each.claim.request_id)
      this.#ready.add(id)
    }
    for (const id of full) this.#full.add(id)
  }

  /** The next request to send, if there is capacity for one: the queues take turns. */
  start(now: number): Flight | undefined {
    this.#setSlowAside(now)
    if (this.#quick.size >= this.#limits.inAll) return undefined
    for (const id of this.#ready) {
      const queue = this.#queues.get(id)!
      if (queue.window === 1 && queue.pace >= SLOW_MS && this.#isSlowFull()) continue
      const claimed = this.#next(queue)
      this.#ready.delete(id)
      if (!claimed) continue
      this.#ready.add(id)
      const timing = { startedAt: now, isSlow: false }
      this.#quick.add(timing)
      return { claimed, timing }
    }
    return undefined
  }

  /**
   * Frees the request's place in its queue. One that pauses its webhook stops the queue until it is settled. Whether there is
   * more of its webhook to claim now.
   */
  ended({ claimed, timing }: Flight, result: AttemptResult | null, now: number, isPausing = false): boolean {
    const { claim } = claimed
    const queue = this.#queues.get(claim.webhook_id)!
    if (claim.trigger === 'manual') queue.manualInFlight--
    else queue.inFlight--
    if (isPausing) queue.pausing++
    if (timing.isSlow) this.#slow--
    else this.#quick.delete(timing)
    if (result) {
      const ms = now - timing.startedAt
      queue.pace = queue.pace === 0 ? Math.max(ms, 1) : queue.pace * 0.8 + ms * 0.2
      queue.window = result.statusCode === null ? 1 : Math.min(queue.window + 1, this.#limits.perWebhook)
    }
    if (queue.waiting.length + queue.manual.length > 0) this.#ready.add(claim.webhook_id)
    this.#remember(claim.webhook_id, queue)
    return this.#full.has(claim.webhook_id) && this.#isLow(claim.webhook_id)
  }

  /** The request is written back and no longer this process's. `isPausing`: as it ended. */
  settled({ claim }: ClaimedRequest, isPausing = false): void {
    this.#held.delete(claim.request_id)
    const queue = isPausing ? this.#queues.get(claim.webhook_id) : undefined
    if (!queue) return
    queue.pausing--
    this.#ready.add(claim.webhook_id)
  }

  /** The ids of the requests that are this process's now. */
  held(): ReadonlySet<string> {
    return this.#held
  }

  #laneOf(webhookId: string): EndpointQueue {
    const known = this.#queues.get(webhookId)
    if (known) return known
    const window = Math.min(FIRST_WINDOW, this.#limits.perWebhook)
    const queue = { waiting: [], manual: [], inFlight: 0, manualInFlight: 0, window, pace: 0, pausing: 0 }
    this.#queues.set(webhookId, queue)
    return queue
  }

  #next(queue: EndpointQueue): ClaimedRequest | undefined {
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

  #setSlowAside(now: number): void {
    for (const timing of this.#quick) {
      if (now - timing.startedAt < SLOW_MS || this.#isSlowFull()) return
      this.#quick.delete(timing)
      timing.isSlow = true
      this.#slow++
    }
  }

  #isSlowFull(): boolean {
    return this.#slow >= this.#limits.inAll * SLOW_FACTOR
  }

  /** What was learned of a webhook is kept for its next requests, of the latest ones at least. */
  #remember(webhookId: string, queue: EndpointQueue): void {
    if (isBusy(queue)) return
    this.#queues.delete(webhookId)
    this.#queues.set(webhookId, queue)
    if (this.#queues.size <= MOST_KNOWN) return
    for (const [id, known] of this.#queues) {
      if (isBusy(known)) continue
      this.#queues.delete(id)
      return
    }
  }
}

const isBusy = ({ inFlight, manualInFlight, waiting, manual, pausing }: EndpointQueue): boolean =>
  inFlight + manualInFlight + waiting.length + manual.length + pausing > 0
