import { hash, timingSafeEqual } from 'node:crypto'
import type { FastifyPluginAsync, FastifyReply } from 'fastify'
import type { Clock } from '../clock.ts'
import type { Deps } from '../deps.ts'
import { clientNetwork } from '../http/auth-and-rate-limit.ts'
import { secondsUntil, tryAgainIn } from '../http/rate-limits.ts'
import { type Exposition, expose } from '../metrics/registry.ts'
import { Problem } from '../problem.ts'

/** `GET /metrics` with METRICS_TOKEN. Without that setting the route does not exist. */
export function metricsRoutes({
  clock,
  config,
  metrics,
  scrape,
}: Pick<Deps, 'clock' | 'config' | 'metrics' | 'scrape'>): FastifyPluginAsync {
  return async (app) => {
    const token = config.metricsToken
    if (token === null) return
    const failures = new FailedAttempts(clock)
    const exposeThisProcess = (accept: string): Promise<Exposition> => expose([{ families: metrics.collect() }], accept)

    /** Others on a network must not lock out the right token, which is too long to be guessed. */
    const refuse = (reply: FastifyReply, network: string): never => {
      const refusedUntil = failures.refusedUntil(network)
      if (refusedUntil === undefined) {
        failures.count(network)
        reply.header('www-authenticate', 'Bearer')
        throw new Problem(401, 'Send METRICS_TOKEN as a bearer token: Authorization: Bearer …')
      }
      const seconds = secondsUntil(refusedUntil, clock.now())
      reply.header('retry-after', String(seconds))
      throw new Problem(429, `Too many wrong tokens. ${tryAgainIn(seconds)}`)
    }

    app.get('/metrics', { schema: { hide: true } }, async ({ headers, ip }, reply) => {
      if (!isBearer(headers.authorization, token)) refuse(reply, clientNetwork(ip))
      const { contentType, text } = await (scrape ?? exposeThisProcess)(headers.accept ?? '')
      return reply.header('cache-control', 'no-store').type(contentType).send(text)
    })
  }
}

/** Compares digests, which have the same length, so that the response time reveals nothing about the token. */
function isBearer(authorization: string | undefined, token: string): boolean {
  const [, sent = ''] = /^bearer (.+)$/i.exec(authorization ?? '') ?? []
  return timingSafeEqual(hash('sha256', sent, 'buffer'), hash('sha256', token, 'buffer'))
}

const MAX_ATTEMPTS = 20
const WINDOW_MS = 60_000
/** Beyond this number, the oldest network is removed. */
const MAX_NETWORKS = 10_000

/** Wrong tokens by network. In memory, because metrics must be available while the database is not. */
class FailedAttempts {
  readonly #clock: Clock
  readonly #byNetwork = new Map<string, { count: number; until: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Undefined while another attempt is allowed. */
  refusedUntil(network: string): number | undefined {
    const window = this.#current(network)
    return window && window.count >= MAX_ATTEMPTS ? window.until : undefined
  }

  count(network: string): void {
    const { count = 0, until = this.#clock.now() + WINDOW_MS } = this.#current(network) ?? {}
    this.#byNetwork.set(network, { count: count + 1, until })
    if (this.#byNetwork.size > MAX_NETWORKS) this.#byNetwork.delete(this.#byNetwork.keys().next().value!)
  }

  #current(network: string) {
    const window = this.#byNetwork.get(network)
    const remainingMs = (window?.until ?? 0) - this.#clock.now()
    // More than WINDOW_MS can remain only after the clock was set back.
    return remainingMs > 0 && remainingMs <= WINDOW_MS ? window : undefined
  }
}
