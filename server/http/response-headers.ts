import type { FastifyInstance } from 'fastify'
import type { Deps } from '../deps.ts'

/** Only resources of this server, no frames. `style-src-attr`: popups are positioned by inline styles. */
const POLICY = [
  "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; img-src 'self' data:",
  "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
].join('; ')

const YEAR_SECONDS = 365 * 24 * 60 * 60

/** Disables content sniffing, and caching of errors and of responses that need authentication. Pages get more headers. */
export function setSecurityHeaders(app: FastifyInstance, { baseUrl }: Pick<Deps['config'], 'baseUrl'>): void {
  const isSecure = baseUrl.startsWith('https:')
  app.addHook('onSend', async ({ url, is404, routeOptions }, reply) => {
    reply.header('x-content-type-options', 'nosniff')
    const isPrivate = routeOptions.config.requiresAuth === true || is404 || reply.statusCode >= 400
    if (isPrivate && !reply.hasHeader('cache-control')) reply.header('cache-control', 'private, no-store')
    if (!/^\/(?:dashboard|docs)(?:[/?]|$)/.test(url)) return
    reply.headers({
      'content-security-policy': POLICY,
      'referrer-policy': 'same-origin',
      'cross-origin-opener-policy': 'same-origin',
    })
    if (isSecure) reply.header('strict-transport-security', `max-age=${YEAR_SECONDS}`)
    // Responses about an account are never cached.
    if (/^\/dashboard\/(?:api|auth)\//.test(url) && !reply.hasHeader('cache-control'))
      reply.header('cache-control', 'private, no-store')
  })
}

const ALLOWED_METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE'
const ALLOWED_HEADERS = 'X-Api-Key, Content-Type, Idempotency-Key, If-Match, If-None-Match, X-Request-Id'
const EXPOSED_HEADERS =
  'Allow, ETag, Location, Retry-After, WWW-Authenticate, Idempotent-Replayed, X-Error-Code, X-Error-Fields, X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset'
/** Seconds for which browsers cache a preflight response. */
const PREFLIGHT_MAX_AGE = '600'

/** CORS: pages of these origins (`*`: all) may call the API with a key. Cookies are never allowed. */
export function allowOrigins(app: FastifyInstance, origins: readonly string[]): void {
  if (origins.length === 0) return
  const isForAll = origins.includes('*')
  app.addHook('onRequest', async (request, reply) => {
    const { origin } = request.headers
    if (!isForAll) reply.header('vary', 'Origin')
    if (origin === undefined || !(isForAll || origins.includes(origin))) return
    reply.header('access-control-allow-origin', isForAll ? '*' : origin)
    if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) {
      return void reply.header('access-control-expose-headers', EXPOSED_HEADERS)
    }
    reply.header('access-control-allow-methods', ALLOWED_METHODS)
    reply.header('access-control-allow-headers', ALLOWED_HEADERS)
    reply.header('access-control-max-age', PREFLIGHT_MAX_AGE)
    return reply.code(204).send()
  })
}
