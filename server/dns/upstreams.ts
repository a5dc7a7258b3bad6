import type { Clock } from '../clock.ts'
import type { Deadlines } from './deadlines.ts'
import type { QuestionType, ServerAddress } from './outcome.ts'
import { createRateLimiter, type RateLimiter } from './rate-limiter.ts'
import { createSemaphore, type Semaphore } from './semaphore.ts'
import { formatServer } from './server-address.ts'
import { tcpTo } from './tcp.ts'
import type { Send } from './transport.ts'
import { createUdpPool, type UdpPool } from './udp.ts'

/** One server that is queried. `failureStreaks`: by question type, only while queries fail. */
export type Upstream = {
  /** `ip:port`, IPv6 in brackets. */
  address: string
  semaphore: Semaphore
  rateLimiter: RateLimiter
  udp: UdpPool
  tcp: Send
  failureStreaks: Map<QuestionType, FailureStreak>
}

/** `failures`: exchanges in a row without a usable outcome. `retryAt`: see `mayQuery`. */
type FailureStreak = { failures: number; retryAt: number }

export type UpstreamLimits = { maxInFlightPerServer: number; maxWaitingPerServer: number; queriesPerSecond: number }

/** How packets are sent to a server. */
export type Transports = { udp: typeof createUdpPool; tcp: typeof tcpTo }

export const SOCKETS: Transports = { udp: createUdpPool, tcp: tcpTo }

export type Upstreams = {
  get(server: ServerAddress): Upstream
  /** Of the permanent upstreams. */
  statuses(): UpstreamStatus[]
  close(reason: Error): void
}

/** `setAside`: how many question types have failed so often that this server is queried last for them. */
export type UpstreamStatus = { address: string; inFlight: number; queued: number; setAside: number }

/** Up to 8 times more queries may be pending for longer than 250 ms: they do not keep the server busy. */
const LATE_FACTOR = 8
const MAX_UPSTREAMS = 2_000
const MAX_FAILURES = 8
const RETRY_MS = 5_000

/** `permanentServers`: never evicted. */
export function createUpstreams(
  permanentServers: readonly ServerAddress[],
  clock: Clock,
  deadlines: Deadlines,
  limits: UpstreamLimits,
  transports: Transports = SOCKETS,
): Upstreams {
  const upstreams = new Map<string, Upstream>() // the least recently used first
  const permanent = new Map<string, Upstream>()
  const byObject = new Map<ServerAddress, Upstream>() // avoids formatting the address
  for (const server of permanentServers) {
    const address = formatServer(server)
    const upstream = permanent.get(address) ?? open(server, address)
    permanent.set(address, upstream)
    byObject.set(server, upstream)
  }

  function open(server: ServerAddress, address: string): Upstream {
    const semaphore = createSemaphore(
      limits.maxInFlightPerServer,
      limits.maxWaitingPerServer,
      LATE_FACTOR * limits.maxInFlightPerServer,
    )
    const udp = transports.udp(server, clock, deadlines)
    const rateLimiter = createRateLimiter(limits.queriesPerSecond, clock)
    return { address, semaphore, rateLimiter, udp, tcp: transports.tcp(server), failureStreaks: new Map() }
  }

  // Busy upstreams stay beyond the limit: there are at most as many as callers.
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
      const permanentUpstream = permanent.get(address)
      if (permanentUpstream) return permanentUpstream
      const upstream = upstreams.get(address) ?? open(server, address)
      upstreams.delete(address)
      upstreams.set(address, upstream)
      evictOldest()
      return upstream
    },
    statuses: () => [...permanent.values()].map(statusOf),
    close(reason) {
      for (const upstream of [...permanent.values(), ...upstreams.values()]) {
        upstream.semaphore.close(reason)
        upstream.udp.close()
      }
    },
  }
}

function statusOf({ address, semaphore, failureStreaks }: Upstream): UpstreamStatus {
  const { held, waiting } = semaphore.counts()
  const setAside = [...failureStreaks.values()].filter(({ failures }) => failures >= MAX_FAILURES).length
  return { address, inFlight: held, queued: waiting, setAside }
}

export function recordExchange(upstream: Upstream, type: QuestionType, isUsable: boolean): void {
  if (isUsable) {
    upstream.failureStreaks.delete(type)
    return
  }
  const streak = upstream.failureStreaks.get(type)
  if (streak) streak.failures++
  else upstream.failureStreaks.set(type, { failures: 1, retryAt: 0 })
}

/**
 * Whether a server is queried in its turn. After too many failures for a type it is queried last, so that queries do not wait
 * for its timeouts. Every 5 s one query tests whether it works again.
 */
export function mayQuery({ failureStreaks }: Upstream, type: QuestionType, now: number): boolean {
  if (failureStreaks.size === 0) return true
  const streak = failureStreaks.get(type)
  if (!streak || streak.failures < MAX_FAILURES) return true
  if (now < streak.retryAt) return false
  streak.retryAt = now + RETRY_MS
  return true
}
