import type { Clock } from '../clock.ts'
import type { Deadlines } from './deadlines.ts'
import type { QuestionType, ServerAddress } from './outcome.ts'
import { createRateLimiter, type RateLimiter } from './rate-limiter.ts'
import { createSemaphore, type Semaphore } from './semaphore.ts'
import { formatServer } from './servers.ts'
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
  troubles: Map<QuestionType, Trouble>
}

/** `failures`: exchanges in a row without a usable answer; `retryAt`: see `mayQuery`. */
type Trouble = { failures: number; retryAt: number }

export type UpstreamLimits = { inFlightPerServer: number; waitingPerServer: number; perSecond: number }

export type Upstreams = {
  to(server: ServerAddress): Upstream
  /** Of those that are never forgotten. */
  statuses(): UpstreamStatus[]
  close(reason: Error): void
}

/** `setAside`: question types for which it is queried last. */
export type UpstreamStatus = { address: string; inFlight: number; queued: number; setAside: number }

/** So many times as many questions may stand unanswered as may be in progress: they are not what keeps a server busy. */
const SILENT = 8
const MAX_UPSTREAMS = 2_000
const FAILURES = 8
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
      limits.inFlightPerServer,
      limits.waitingPerServer,
      SILENT * limits.inFlightPerServer,
    )
    const udp = createUdpPool(server, clock, deadlines)
    const rateLimiter = createRateLimiter(limits.perSecond, clock)
    return { address, semaphore, rateLimiter, udp, tcp: tcpTo(server), troubles: new Map() }
  }

  // A busy upstream is kept beyond the bound: those are as many as there are callers.
  function forgetOldest(): void {
    const oldest = upstreams.entries().next().value
    if (upstreams.size <= MAX_UPSTREAMS || !oldest?.[1].semaphore.isIdle()) return
    oldest[1].udp.close()
    upstreams.delete(oldest[0])
  }

  return {
    to(server) {
      const known = byObject.get(server)
      if (known) return known
      const address = formatServer(server)
      const keptPath = keptUpstreams.get(address)
      if (keptPath) return keptPath
      const upstream = upstreams.get(address) ?? open(server, address)
      upstreams.delete(address)
      upstreams.set(address, upstream)
      forgetOldest()
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

function statusOf({ address, semaphore, troubles }: Upstream): UpstreamStatus {
  const { held, waiting } = semaphore.counts()
  const setAside = [...troubles.values()].filter(({ failures }) => failures >= FAILURES).length
  return { address, inFlight: held, queued: waiting, setAside }
}

export function noteExchange(upstream: Upstream, type: QuestionType, isUsable: boolean): void {
  if (isUsable) {
    upstream.troubles.delete(type)
    return
  }
  const trouble = upstream.troubles.get(type)
  if (trouble) trouble.failures++
  else upstream.troubles.set(type, { failures: 1, retryAt: 0 })
}

/**
 * Whether a server may be asked in its turn. One that has long been silent or failing for a type is asked last for it, so
 * that questions do not wait there for their deadlines, but from time to time one question finds out whether it is back.
 */
export function mayQuery({ troubles }: Upstream, type: QuestionType, now: number): boolean {
  if (troubles.size === 0) return true
  const trouble = troubles.get(type)
  if (!trouble || trouble.failures < FAILURES) return true
  if (now < trouble.retryAt) return false
  trouble.retryAt = now + RETRY_MS
  return true
}
