import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ErrorBody } from '#contract/common.ts'
import { isDatabaseUnavailable, isDeadlock } from '../database/unavailable.ts'
import { errorCodeOf, fieldCodesHeader, fieldTexts, invalid, Problem } from '../problem.ts'
import { limitHeaders, unlimitedStatus } from './rate-limits.ts'
import { InvalidInput } from './validation.ts'

/** All errors have the same shape. */
export function handleErrors(app: FastifyInstance): void {
  const allowedMethods = methodsByPath(app)
  app.setErrorHandler((error: FastifyError, request, reply) => sendError(error, request, reply))
  app.setNotFoundHandler((_request, reply) => send(reply, { code: 404, error: 'Not found' }))
  // Before the body is read, which an unknown route does not need.
  app.addHook('preParsing', async (request, reply) => {
    const allowed = allowedMethods(request.url.split('?')[0]!)
    // GET /monitors/bulk would match `/monitors/:monitor`, but the path is fixed. Wildcard routes have no methods here.
    if (!request.is404 && (allowed.length === 0 || allowed.includes(request.method))) return
    if (allowed.length === 0 || allowed.includes(request.method)) throw new Problem(404, 'Not found')
    reply.header('allow', allowed.join(', '))
    throw new Problem(405, `${request.method} is not allowed here. Use ${allowed.join(', ')}.`)
  })
}

export function sendError(error: FastifyError, request: FastifyRequest, reply: FastifyReply) {
  if (error instanceof InvalidInput) return sendProblem(invalid(error.errors), request, reply)
  if (error instanceof Problem) return sendProblem(error, request, reply)
  const fastifyError = FASTIFY_ERRORS[error.code]
  if (fastifyError) return send(reply, fastifyError)
  if (isUniqueViolation(error) || isDeadlock(error)) {
    reply.header('retry-after', '1')
    return send(reply, { code: 409, error: 'Another request changed the same resource. Try again.' })
  }
  // An error with a status is the client's: a connection that the client closed looks like an unavailable database.
  if (error.statusCode === undefined && isDatabaseUnavailable(error)) {
    request.log.error({ err: error }, 'The database is unavailable.')
    reply.header('retry-after', '5')
    return send(reply, { code: 503, error: 'The database is unavailable. Try again in 5 seconds.' })
  }
  if (error.statusCode === 400) return send(reply, invalidInput({ body: 'is not valid JSON.' }), 'invalid_json')
  if (error.statusCode !== undefined && error.statusCode > 400 && error.statusCode < 500) {
    return send(reply, { code: error.statusCode, error: error.message })
  }
  request.log.error({ err: error }, 'A request failed with an unexpected error.')
  return send(reply, {
    code: 500,
    error: 'Internal server error. Report the request_id to the operator of the server.',
    request_id: request.id,
  })
}

function sendProblem({ status, message, errors, code }: Problem, request: FastifyRequest, reply: FastifyReply) {
  if (status === 401 && !reply.hasHeader('www-authenticate')) reply.header('www-authenticate', challengeOf(request))
  const fields = errors && fieldCodesHeader(errors)
  if (fields) reply.header('x-error-fields', fields)
  return send(reply, { code: status, error: message, ...(errors && { errors: fieldTexts(errors) }) }, code)
}

/** RFC 9110 section 11.6.1. Browsers ask for no password, because they do not know these schemes. */
const challengeOf = ({ routeOptions }: FastifyRequest): string =>
  routeOptions.config.requiresAuth ? 'ApiKey realm="zonewatch", header="X-Api-Key"' : 'Session realm="zonewatch"'

function send(reply: FastifyReply, body: ErrorBody, code = errorCodeOf(body.code)) {
  reply.header('x-error-code', code)
  return reply.code(body.code).type('application/json; charset=utf-8').serializer(JSON.stringify).send(body)
}

const invalidInput = (errors: Record<string, string>): ErrorBody => ({
  code: 400,
  error: 'The request is invalid. See errors.',
  errors,
})

const FASTIFY_ERRORS: Record<string, ErrorBody> = {
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: invalidInput({ body: 'has another length than Content-Length says.' }),
  FST_ERR_CTP_BODY_TOO_LARGE: {
    code: 413,
    error: 'The request body is too large. The limit is 1 MiB, and 16 MiB for bulk requests.',
  },
  FST_ERR_CTP_INVALID_MEDIA_TYPE: { code: 415, error: 'Send JSON, with the header Content-Type: application/json.' },
}

function isUniqueViolation(error: FastifyError & { errcode?: number }): boolean {
  return error.code === '23505' || error.errcode === 2067 || error.errcode === 1555
}

/** The methods of a path, for 405 and `Allow`. A path without parameters takes precedence over a pattern. */
function methodsByPath(app: FastifyInstance): (path: string) => string[] {
  const fixed = new Map<string, string[]>()
  const routes: { pattern: RegExp; methods: string[] }[] = []
  const withoutSlash = (path: string) => path.replace(/(?<=.)\/$/, '')
  app.addHook('onRoute', ({ url, method }) => {
    const methods = [method].flat()
    const path = withoutSlash(url)
    if (!/[:*]/.test(url)) return void fixed.set(path, [...(fixed.get(path) ?? []), ...methods])
    const pattern = url.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/:[^/]+/g, '[^/]+')
    routes.push({ pattern: new RegExp(`^${pattern.replace(/\/$/, '')}/?$`), methods })
  })
  return (path) => {
    const matching = routes.filter(({ pattern }) => pattern.test(path))
    const methods = fixed.get(withoutSlash(path)) ?? matching.flatMap((route) => route.methods)
    return [...new Set(methods)].sort()
  }
}

type ConnectionError = Error & { code: string; rawPacket: unknown }

/** Answers malformed HTTP, for which Fastify has no request. Not rate-limited, because the connection is closed. */
export function createClientErrorHandler(now: () => number) {
  return (error: ConnectionError, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || socket.destroyed) return
    if (!socket.writable) return void socket.destroy(error)
    const code = statusOf(error)
    const errors = code === 400 ? { request: 'is malformed HTTP.' } : undefined
    const body = JSON.stringify({ code, error: CONNECTION_ERRORS[code], errors })
    const headers = {
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(Buffer.byteLength(body)),
      connection: 'close',
      'x-error-code': errorCodeOf(code),
      'x-request-id': randomUUID(),
      ...limitHeaders(unlimitedStatus(now()), now()),
    }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    // The reason phrase is optional, the space before it is not: RFC 9112 section 4.
    socket.end([`HTTP/1.1 ${code} `, ...lines, '', body].join('\r\n'))
  }
}

const CONNECTION_ERRORS: Record<number, string> = {
  400: 'Malformed HTTP request.',
  408: 'The request timed out before it was complete.',
  413: 'The request body is too large.',
  414: 'The URL is too long.',
  431: 'The request headers are too large.',
}

function statusOf({ code, rawPacket }: ConnectionError): 400 | 408 | 413 | 414 | 431 {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 408
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') return 413
  if (code !== 'HPE_HEADER_OVERFLOW') return 400
  // One limit covers the request line and the headers. The received bytes show which of them is too large.
  const requestLineLength = Buffer.isBuffer(rawPacket) ? rawPacket.indexOf('\r\n') : 0
  return requestLineLength < 0 || requestLineLength > 8_192 ? 414 : 431
}
