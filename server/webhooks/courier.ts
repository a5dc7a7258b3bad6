import type { Logger } from 'pino'
import type { Clock } from '../clock.ts'
import type { Database } from '../database/database.ts'
import { WriteBatches } from '../database/write-batches.ts'
import type { Heart } from '../heart.ts'
import type { Seal } from '../seal.ts'
import { attempt } from './attempt.ts'
import {
  type ClaimedRequest,
  claimRequests,
  findDueWebhooks,
  type Recorded,
  readClaimed,
  recordAttempts,
} from './queue.ts'
import type { SafeFetch } from './safe-fetch.ts'

export type CourierDoors = {
  db: Database
  clock: Clock
  safeFetch: SafeFetch
  seal: Seal
  log: Logger
  heart: Heart
  process: number
}
export type CourierLimits = {
  /** Requests under way at a time, in all and for one webhook. */
  inAll: number
  perWebhook: number
}

export const COURIER_LIMITS: CourierLimits = { inAll: 200, perWebhook: 8 }

/** How long the courier rests when nothing is due: the longest that a new event waits here. */
const IDLE_MS = 200
const WEBHOOKS_PER_ROUND = 50
const GATHER_MS = 2

/**
 * The loop that sends what is due. Each webhook is a lane of its own: one that is slow or far behind takes none of another's
 * room. Runs until `stop`; what is under way then is finished, or given up when `abandon` is aborted.
 */
export async function runCourier(
  doors: CourierDoors,
  { stop, abandon }: { stop: AbortSignal; abandon: AbortSignal },
  limits: CourierLimits = COURIER_LIMITS,
): Promise<void> {
  const { db, clock, log, heart } = doors
  const lanes = new Lanes(limits)
  const records = new WriteBatches<Recorded>(
    async (items) => {
      for (const { webhookId, error } of await recordAttempts(db, items, clock.now())) {
        log.warn({ webhookId, error }, 'A webhook is paused: its receiver failed for too long. Its requests are kept.')
      }
    },
    {
      clock,
      gatherMs: GATHER_MS,
      onGivenUp: (err) => log.error({ err }, 'An attempt could not be recorded; it will be made again.'),
    },
  )
  const send = async (claimed: ClaimedRequest) => {
    const result = await attempt(claimed.request, doors, abandon)
    if (!abandon.aborted) await records.add({ claimed, result })
  }
  while (!stop.aborted) {
    heart.beat('courier', clock.elapsed())
    try {
      const claimed = await claimRound(doors, lanes)
      for (const each of claimed) lanes.run(each.claim.webhook_id, send(each))
      if (claimed.length === 0) await Promise.race([clock.sleep(IDLE_MS, stop), lanes.nextRoom()])
    } catch (err) {
      log.error({ err }, 'The courier cannot read what is due; it tries again.')
      await clock.sleep(1_000, stop)
    }
  }
  await lanes.settled()
}

async function claimRound({ db, clock, seal, process }: CourierDoors, lanes: Lanes): Promise<ClaimedRequest[]> {
  if (lanes.room() === 0) return []
  const now = clock.now()
  const due = await findDueWebhooks(db, { now, limit: WEBHOOKS_PER_ROUND, except: lanes.full() })
  const claims = []
  for (const webhook of due) {
    const limit = Math.min(lanes.roomOf(webhook.webhook_id), lanes.room() - claims.length)
    if (limit > 0) claims.push(...(await claimRequests(db, webhook, { now, process, limit })))
  }
  return await readClaimed(db, seal, claims, now)
}

/** What is under way, by webhook. */
class Lanes {
  readonly #limits: CourierLimits
  readonly #underWay = new Map<string, number>()
  readonly #all = new Set<Promise<void>>()

  constructor(limits: CourierLimits) {
    this.#limits = limits
  }

  run(webhookId: string, work: Promise<void>): void {
    this.#underWay.set(webhookId, (this.#underWay.get(webhookId) ?? 0) + 1)
    const tracked = work.finally(() => {
      const left = this.#underWay.get(webhookId)! - 1
      if (left === 0) this.#underWay.delete(webhookId)
      else this.#underWay.set(webhookId, left)
      this.#all.delete(tracked)
    })
    this.#all.add(tracked)
  }

  room(): number {
    return this.#limits.inAll - this.#all.size
  }

  roomOf(webhookId: string): number {
    return this.#limits.perWebhook - (this.#underWay.get(webhookId) ?? 0)
  }

  full(): string[] {
    return [...this.#underWay.keys()].filter((webhookId) => this.roomOf(webhookId) <= 0)
  }

  /** Resolves when something under way ends, and there may be room again. */
  async nextRoom(): Promise<void> {
    if (this.#all.size === 0) return await new Promise(() => {})
    await Promise.race(this.#all)
  }

  async settled(): Promise<void> {
    await Promise.allSettled(this.#all)
  }
}
