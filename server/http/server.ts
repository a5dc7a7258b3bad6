import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import { type FastifyBaseLogger, fastify, LogController } from 'fastify'
import { answerErrors } from './errors.ts'
import { validatorCompiler } from './validation.ts'

const MEBIBYTE = 1024 * 1024

/** A server without routes: what every route shares. */
export function createHttpServer(log: FastifyBaseLogger) {
  const app = fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: MEBIBYTE,
    genReqId: requestId,
    requestTimeout: 30_000,
    forceCloseConnections: 'idle',
    return503OnClosing: true,
    routerOptions: { maxParamLength: 1_000, caseSensitive: true, ignoreTrailingSlash: true },
    frameworkErrors: (_error, request, reply) => {
      reply
        .header('x-request-id', request.id)
        .code(404 as never)
        .send({ code: 404, error: 'Not found' } as never)
    },
  }).withTypeProvider<TypeBoxTypeProvider>()
  answerErrors(app)
  app.setValidatorCompiler(validatorCompiler)
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id)
  })
  app.addHook('onResponse', async (request, reply) => {
    const { method, url } = request
    request.log.debug({ method, url, status: reply.statusCode, ms: Math.round(reply.elapsedTime) }, 'answered')
  })
  takeJsonOnly(app)
  return app
}

/** The caller's own id where it is 1 to 128 visible ASCII characters, else a new one. */
function requestId(request: IncomingMessage): string {
  const given = request.headers['x-request-id']
  return typeof given === 'string' && /^[\x21-\x7e]{1,128}$/.test(given) ? given : randomUUID()
}

/** An empty body counts as none, so that clients which always send a content type can call routes without one. */
function takeJsonOnly(app: ReturnType<typeof createHttpServer>): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body.length === 0) return done(null, undefined)
    parse(request, body as string, done)
  })
}
