import type { FastifyInstance } from 'fastify'

const ALLOWED_METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE'
const ALLOWED_HEADERS = 'X-Api-Key, Content-Type, Idempotency-Key, If-Match, If-None-Match, X-Request-Id'
const EXPOSED_HEADERS =
  'Allow, ETag, Location, Retry-After, WWW-Authenticate, Idempotent-Replayed, X-Error-Code, X-Error-Fields, X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset'
/** Seconds for which a browser need not ask again. */
const MAX_AGE = '600'

/** Lets pages of these origins (`*`: of all) call the API from a browser. Never with cookies: a page sends its key. */
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
    reply.header('access-control-max-age', MAX_AGE)
    return reply.code(204).send()
  })
}
