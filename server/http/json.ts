import { isUtf8 } from 'node:buffer'
import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type FieldError, fieldError } from '#contract/field-errors.ts'
import { Problem } from '../problem.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** SHA-256 of the body, if the request has an `Idempotency-Key`. */
    bodyHash: string
  }
}

/** An empty body counts as none, because some clients always send a content type. */
export function acceptOnlyJson(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.decorateRequest('bodyHash', '')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    if (body.length === 0) return done(null, undefined)
    if (isCompressed(request)) return done(compressedBody())
    if (!isUtf8(body)) return done(invalidJson(fieldError('invalid_utf8')))
    if (request.headers['idempotency-key'] !== undefined) request.bodyHash = hash('sha256', body)
    const text = body.toString()
    parse(request, text, (error, value) => (error ? done(invalidJson(jsonError(text))) : done(null, value)))
  })
  app.addContentTypeParser<Buffer>('*', { parseAs: 'buffer' }, (request, body, done) => {
    if (body.length === 0) return done(null, undefined)
    const jsonRequired = new Problem(415, 'Send JSON, with the header Content-Type: application/json.')
    done(isCompressed(request) ? compressedBody() : jsonRequired)
  })
}

const isCompressed = ({ headers }: FastifyRequest) =>
  (headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity'
const compressedBody = () => new Problem(415, 'Content-Encoding is not supported. Send the body uncompressed.')
const invalidJson = (body: FieldError) =>
  new Problem(400, 'The body is not valid JSON. See errors.', { body }, 'invalid_json')

/** The message of the runtime. A body without a syntax error has a forbidden name, such as `__proto__`. */
function jsonError(text: string): FieldError {
  try {
    JSON.parse(text)
    return fieldError('forbidden_name')
  } catch (error) {
    return fieldError('invalid_json', { detail: (error as Error).message })
  }
}
