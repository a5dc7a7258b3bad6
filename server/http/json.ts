import { isUtf8 } from 'node:buffer'
import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type FieldError, fieldError } from '#contract/field-errors.ts'
import { Problem } from '../problem.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** SHA-256 of the body as it was sent, where the request carries an `Idempotency-Key`. */
    bodyHash: string
  }
}

/** An empty body counts as none, so that clients which always send a content type can call routes without one. */
export function acceptOnlyJson(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.decorateRequest('bodyHash', '')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    if (body.length === 0) return done(null, undefined)
    if (isPacked(request)) return done(packed())
    if (!isUtf8(body)) return done(notJson(fieldError('invalid_utf8')))
    if (request.headers['idempotency-key'] !== undefined) request.bodyHash = hash('sha256', body)
    const text = body.toString()
    parse(request, text, (error, value) => (error ? done(notJson(whyNot(text))) : done(null, value)))
  })
  app.addContentTypeParser<Buffer>('*', { parseAs: 'buffer' }, (request, body, done) => {
    if (body.length === 0) return done(null, undefined)
    done(isPacked(request) ? packed() : new Problem(415, 'Send JSON, with the header Content-Type: application/json.'))
  })
}

const isPacked = ({ headers }: FastifyRequest) =>
  (headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity'
const packed = () => new Problem(415, 'Content-Encoding is not supported. Send the body uncompressed.')
const notJson = (body: FieldError) =>
  new Problem(400, 'The body is not valid JSON. See errors.', { body }, 'invalid_json')

/** Where it goes wrong, as the runtime says it. What can be read after all holds a name that is refused. */
function whyNot(text: string): FieldError {
  try {
    JSON.parse(text)
    return fieldError('forbidden_name')
  } catch (error) {
    return fieldError('invalid_json', { detail: (error as Error).message })
  }
}
