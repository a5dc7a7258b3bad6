import type { Clock } from '../clock.ts'
import type { Deadlines } from './deadlines.ts'
import type { QuestionType, ServerAddress } from './outcome.ts'
import { createRateLimiter, type RateLimiter } from './rate-limiter.ts'
import { createSemaphore, type Semaphore } from './semaphore.ts'
import { formatServer } from './server-address.ts'
import { tcpTo } from './tcp.ts'
import type { Send } from './transport.ts'
import { createUdpPool, type UdpPool } from './udp.ts'

/** All that is kept about one server. `troubles`: by question type, of those that did not go well lately. */
export type Upstream = {
  /** `ip:port`, IPv6 in brackets. */
  address: string
  semaphore: Semaphore
  rateLimiter: RateLimiter
  udp: UdpPool
  tcp: Send
  failureStreaks: Map<QuestionType, FailureStreak>
}

/** `failures`: exchanges in a row without a usable answer; `retryAt`: see `mayQuery`. */
type FailureStreak = { failures: number; retryAt: number }

export type UpstreamLimits = { maxInFlightPerServer: number; maxWaitingPerServer: number; queriesPerSecond: number }

export type Upstreams = {
  get(server: ServerAddress): Upstream
  /** Of those that are never forgotten. */
  statuses(): UpstreamStatus[]
  close(reason: Error): void
}

/** `setAside`: question types for which it is queried last. */
export type UpstreamStatus = { address: string; inFlight: number; queued: number; setAside: number }

/** So many times as many questions may stand unanswered as may be in progress: they are not what keeps a server busy. */
const SILENT_FACTOR = 8
const MAX_UPSTREAMS = 2_000
const MAX_FAILURES = 8
const RETRY_MS = 5_000

/** `kept`: those that are never forgotten. */
export function createUpstreams(
  kept: readonly ServerAddress[],
  clock: Clock,
  deadlines: Deadlines,
  limits: UpstreamLimits,
): Upstreams {
  const upstreams = new Map<string, Upstream>() // the least recently used first
  const keptUpstreams = new Map<string, Upstream>()
  const byObject = new Map<ServerAddress, Upstream>() // found without making the text of an address
  for (const server of kept) {
    const address = formatServer(server)
    const upstream = keptUpstreams.get(address) ?? open(server, address)
    keptUpstreams.set(address, upstream)
    byObject.set(server, upstream)
  }

  function open(server: ServerAddress, address: string): Upstream {
    const semaphore = createSemaphore(
      limits.maxInFlightPerServer,
      limits.maxWaitingPerServer,
      SILENT_FACTOR * limits.maxInFlightPerServer,
    )
    const udp = createUdpPool(server, clock, deadlines)
    const rateLimiter = createRateLimiter(limits.queriesPerSecond, clock)
    return { address, semaphore, rateLimiter, udp, tcp: tcpTo(server), failureStreaks: new Map() }
  }

  // A busy upstream is kept beyond the bound: those are as many as there are callers.
  function evictOldest(): void {
    const oldest = upstreams.entries().next().value
    if (upstreams.size <= MAX_UPSTREAMS || !oldest?.[1].semaphore.isIdle()) return
    oldest[1].udp.close()
    upstreams.delete(oldest[0])
  }

  return {
    get(server) {
      const known = byObject.get(server)
      if (known) return known
      const address = formatServer(server)
      const keptPath = keptUpstreams.get(address)
      if (keptPath) return keptPath
      const upstream = upstreams.get(address) ?? open(server, address)
      upstreams.delete(address)
      upstreams.set(address, upstream)
      evictOldest()
      return upstream
    },
    statuses: () => [...keptUpstreams.values()].map(statusOf),
    close(reason) {
      for (const upstream of [...keptUpstreams.values(), ...upstreams.values()]) {
        upstream.semaphore.close(reason)
        upstream.udp.close()
      }
    },
  }
}

function statusOf({ address, semaphore, failureStreaks: troubles }: Upstream): UpstreamStatus {
  const { held, waiting } = semaphore.counts()
  const setAside = [...troubles.values()].filter(({ failures }) => failures >= MAX_FAILURES).length
  return { address, inFlight: held, queued: waiting, setAside }
}

export function recordExchange(upstream: Upstream, type: QuestionType, isUsable: boolean): void {
  if (isUsable) {
    upstream.failureStreaks.delete(type)
    return
  }
  const trouble = upstream.failureStreaks.get(type)
  if (trouble) trouble.failures++
  else upstream.failureStreaks.set(type, { failures: 1, retryAt: 0 })
}

/**
 * Whether a server may be asked in its turn. One that has long been silent or failing for a type is asked last for it, so
 * that questions do not wait there for their deadlines, but from time to time one question finds out whether it is back.
 */
export function mayQuery({ failureStreaks: troubles }: Upstream, type: QuestionType, now: number): boolean {
  if (troubles.size === 0) return true
  const trouble = troubles.get(type)
  if (!trouble || trouble.failures < MAX_FAILURES) return true
  if (now < trouble.retryAt) return false
  trouble.retryAt = now + RETRY_MS
  return true
}
