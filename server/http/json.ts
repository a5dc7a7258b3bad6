import { hash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'

declare module 'fastify' {
  interface FastifyRequest {
    /** SHA-256 of the body as it was sent, where the request carries an `Idempotency-Key`. */
    bodyHash: string
  }
}

/** An empty body counts as none, so that clients which always send a content type can call routes without one. */
export function takeJsonOnly(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.decorateRequest('bodyHash', '')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body.length === 0) return done(null, undefined)
    if (request.headers['idempotency-key'] !== undefined) request.bodyHash = hash('sha256', body)
    parse(request, body as string, done)
  })
}
