import { hash, timingSafeEqual } from 'node:crypto'
import type { FastifyPluginAsync } from 'fastify'
import type { Clock } from '../clock.ts'
import type { Deps } from '../deps.ts'
import { networkOf } from '../http/auth-and-rate-limit.ts'
import { secondsToWait, tryAgainIn } from '../http/limits.ts'
import { type Exposition, expose } from '../metrics/families.ts'
import { Problem } from '../problem.ts'

/** `GET /metrics` for anyone who sends METRICS_TOKEN. Without that setting there is no such route. */
export function metricsRoutes({
  clock,
  config,
  metrics,
  scrape,
}: Pick<Deps, 'clock' | 'config' | 'metrics' | 'scrape'>): FastifyPluginAsync {
  return async (app) => {
    const token = config.metricsToken
    if (token === null) return
    const guesses = new Guesses(clock)
    const own = (accept: string): Promise<Exposition> => expose([{ families: metrics.collect() }], accept)

    app.get('/metrics', { schema: { hide: true } }, async ({ headers, ip }, reply) => {
      const network = networkOf(ip)
      const freeAt = guesses.refusedUntil(network)
      if (freeAt !== undefined) {
        const seconds = secondsToWait({ freeAt }, clock.now())
        reply.header('retry-after', String(seconds))
        throw new Problem(429, `Too many wrong tokens. ${tryAgainIn(seconds)}`)
      }
      if (!isBearer(headers.authorization, token)) {
        guesses.count(network)
        reply.header('www-authenticate', 'Bearer')
        throw new Problem(401, 'Send METRICS_TOKEN as a bearer token: Authorization: Bearer …')
      }
      const { contentType, text } = await (scrape ?? own)(headers.accept ?? '')
      return reply.header('cache-control', 'no-store').type(contentType).send(text)
    })
  }
}

/** The digests are compared, which are of one length, so that the time says nothing about the token. */
function isBearer(authorization: string | undefined, token: string): boolean {
  const [, sent = ''] = /^bearer (.+)$/i.exec(authorization ?? '') ?? []
  return timingSafeEqual(hash('sha256', sent, 'buffer'), hash('sha256', token, 'buffer'))
}

const MOST_GUESSES = 20
const WINDOW_MS = 60_000
/** Beyond that the oldest is forgotten. */
const REMEMBERED = 10_000

/** Wrong tokens by network. In memory, because metrics are read most when the database is away. */
class Guesses {
  readonly #clock: Clock
  readonly #byNetwork = new Map<string, { count: number; until: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Undefined while another guess is free. A right token is refused too: it could be a guess. */
  refusedUntil(network: string): number | undefined {
    const counted = this.#current(network)
    return counted && counted.count >= MOST_GUESSES ? counted.until : undefined
  }

  count(network: string): void {
    const { count = 0, until = this.#clock.now() + WINDOW_MS } = this.#current(network) ?? {}
    this.#byNetwork.set(network, { count: count + 1, until })
    if (this.#byNetwork.size > REMEMBERED) this.#byNetwork.delete(this.#byNetwork.keys().next().value!)
  }

  #current(network: string) {
    const counted = this.#byNetwork.get(network)
    const left = (counted?.until ?? 0) - this.#clock.now()
    // More than a window is left only where the clock was set back.
    return left > 0 && left <= WINDOW_MS ? counted : undefined
  }
}
