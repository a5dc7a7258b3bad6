import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import fastJson from 'fast-json-stringify'
import {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  LogController,
} from 'fastify'
import { fieldError } from '#contract/field-errors.ts'
import type { Deps } from '../deps.ts'
import { invalid, Problem } from '../problem.ts'
import { type AccessDeps, authenticateAndLimit, countsRequests, identifyAndCount } from './auth-and-rate-limit.ts'
import { handleConditionalRequests } from './conditional.ts'
import { createClientErrorHandler, handleErrors, sendError } from './errors.ts'
import { handleIdempotencyKeys } from './idempotency.ts'
import { acceptOnlyJson } from './json.ts'
import { limitLargeBodies } from './large-bodies.ts'
import { reportAllQueryErrors } from './list-query-errors.ts'
import { runPeriodicCleanup } from './periodic-cleanup.ts'
import { Limiter } from './rate-limiter.ts'
import { limitHeaders, unlimitedStatus } from './rate-limits.ts'
import { allowOrigins, setSecurityHeaders } from './response-headers.ts'
import { limitUnreadResponses } from './unread-responses.ts'
import { compileLazily, refuseUnreadableInput, validatorCompiler } from './validation.ts'

const MEBIBYTE = 1024 * 1024
/** Closes connections whose client does not read the response, which stays in memory. */
const STALLED_CONNECTION_MS = 120_000

const serializerOf = compileLazily((schema) => fastJson(schema))

/** What all routes share. */
export function createHttpServer(deps: Deps, callers: Pick<AccessDeps, 'identify' | 'authorize'>) {
  const { clock, db, config } = deps
  const log: FastifyBaseLogger = deps.log
  const access: AccessDeps = { clock, limiter: new Limiter({ db, clock }), limits: config.limits, ...callers }
  const app = fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: MEBIBYTE,
    genReqId: requestId,
    requestTimeout: 30_000,
    connectionTimeout: STALLED_CONNECTION_MS,
    trustProxy: config.trustedProxies.length > 0 ? config.trustedProxies : false,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    http: { requireHostHeader: false },
    clientErrorHandler: createClientErrorHandler(clock.now),
    routerOptions: { maxParamLength: 1_000, caseSensitive: true, ignoreTrailingSlash: true },
    // A path that cannot be decoded or has a parameter that is too long is a 404.
    frameworkErrors: (_error, request, reply) => {
      reply.header('x-request-id', request.id)
      identifyAndCount(access, request as never, reply as never)
        .then(() => new Problem(404, 'Not found'))
        .catch((error: FastifyError) => error)
        .then((error) => sendError(error as FastifyError, request as never, reply as never))
    },
  }).withTypeProvider<TypeBoxTypeProvider>()
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(({ schema }) => {
    const serializer = serializerOf(schema)
    return (value) => serializer()(value)
  })
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id)
    if (!countsRequests(request)) return
    const now = clock.now()
    reply.headers(limitHeaders(unlimitedStatus(now), now))
  })
  setSecurityHeaders(app, config)
  allowOrigins(app, config.corsOrigins)
  refuseWhileStarting(app, deps)
  closeConnectionsWhileStopping(app, deps)
  refuseInvalidHeaders(app)
  authenticateAndLimit(app, access)
  handleErrors(app)
  app.addHook('onResponse', async (request, reply) => {
    const { method } = request
    const route = request.routeOptions.url
    // The log must not contain secret links.
    const url = route?.includes(':token') ? route : withoutLink(request.url)
    traceRequest(deps, request, reply)
    deps.metrics.request(method, request.is404 ? undefined : route, reply.statusCode, reply.elapsedTime)
    request.log.debug({ method, url, status: reply.statusCode, ms: Math.round(reply.elapsedTime) }, 'answered')
  })
  limitLargeBodies(app)
  acceptOnlyJson(app)
  refuseUnreadableInput(app)
  handleConditionalRequests(app)
  handleIdempotencyKeys(app, deps)
  reportAllQueryErrors(app)
  limitUnreadResponses(app)
  runPeriodicCleanup(app, deps)
  return app
}

/** Pages of the dashboard without what follows their names, which is the token of a link on some, and no API key that was sent in a URL. */
export const withoutLink = (url: string): string =>
  url.replace(/^(\/dashboard\/(?!api\/|auth\/)[^/?]+)[/?].*$/s, '$1/…').replaceAll(/zw_[A-Za-z0-9]{43}/g, 'zw_…')

function traceRequest({ tracing, clock }: Deps, request: FastifyRequest, reply: FastifyReply): void {
  if (!tracing) return
  const route = request.is404 ? 'unmatched' : (request.routeOptions.url ?? 'unmatched')
  const endedAt = clock.now()
  tracing.record({
    name: `${request.method} ${route}`,
    kind: 'server',
    startedAt: endedAt - reply.elapsedTime,
    endedAt,
    attributes: {
      'http.request.method': request.method,
      'http.route': route,
      'http.response.status_code': reply.statusCode,
      'zonewatch.request_id': request.id,
    },
    isFailed: reply.statusCode >= 500,
    traceparent: request.headers.traceparent as string | undefined,
  })
}

/** The id from the client if it is 1 to 128 visible ASCII characters, or a new one. */
function requestId(request: IncomingMessage): string {
  const id = request.headers['x-request-id']
  return typeof id === 'string' && /^[\x21-\x7e]{1,128}$/.test(id) ? id : randomUUID()
}

/** The port opens early, so that clients get a 503 with Retry-After instead of a refused connection. */
function refuseWhileStarting(app: FastifyInstance, { isStarting = () => false }: Deps): void {
  app.addHook('onRequest', async (request, reply) => {
    if (!isStarting() || request.routeOptions.url === '/healthz') return
    reply.header('retry-after', '2')
    throw new Problem(503, 'The server is starting. Try again in 2 seconds.')
  })
}

/** Load balancers stop sending requests after the 503 of `/readyz`. Other requests are answered, and their connections closed. */
function closeConnectionsWhileStopping(app: FastifyInstance, { isStopping = () => false }: Deps): void {
  let isClosing = false
  app.addHook('preClose', async () => {
    isClosing = true
  })
  app.addHook('onRequest', async (request, reply) => {
    if (!isClosing && !isStopping()) return
    reply.header('connection', 'close')
    if (request.routeOptions.url !== '/readyz') return
    reply.header('retry-after', '5')
    throw new Problem(503, 'The server is stopping. Try again in 5 seconds.')
  })
}

/** Node uses the first Host header; a proxy may have used the other one. RFC 9112 section 3.2. */
function hasTwoHosts({ rawHeaders }: IncomingMessage): boolean {
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]!.toLowerCase() === 'host') hosts++
  }
  return hosts > 1
}

function refuseInvalidHeaders(app: FastifyInstance): void {
  app.addHook('onRequest', async (request) => {
    const { host, expect } = request.headers
    if (host === undefined && request.raw.httpVersion === '1.1') throw invalid({ Host: fieldError('required') })
    if (hasTwoHosts(request.raw)) throw invalid({ Host: fieldError('repeated') })
    if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
      throw new Problem(417, 'Unsupported Expect header. Only 100-continue is allowed.')
    }
  })
  // Otherwise Node answers an unknown Expect without a body.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
}
