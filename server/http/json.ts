import { isUtf8 } from 'node:buffer'
import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type FieldError, fieldError } from '#contract/field-errors.ts'
import { invalid, Problem } from '../problem.ts'
import { MAX_DEPTH, MAX_VALUES } from './validation.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** SHA-256 of the body, if the request has an `Idempotency-Key`. */
    bodyHash: string
  }
}

/** An empty body counts as none, because some clients always send a content type. */
export function acceptOnlyJson(app: FastifyInstance): void {
  app.decorateRequest('bodyHash', '')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    if (body.length === 0) return done(null, undefined)
    if (isCompressed(request)) return done(compressedBody())
    if (!isUtf8(body)) return done(invalidJson(fieldError('invalid_utf8')))
    if (request.headers['idempotency-key'] !== undefined) request.bodyHash = hash('sha256', body)
    const tooLarge = findTooLarge(body)
    if (tooLarge) return done(invalid({ body: tooLarge }))
    const parsed = parseJson(body.toString())
    return 'error' in parsed ? done(invalidJson(parsed.error)) : done(null, parsed.value)
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

/**
 * Counts values and their depth in one pass over the octets, before anything is built of them: parsing 1.5 million names takes a second.
 * An empty list or object counts as two values.
 */
export function findTooLarge(json: Uint8Array, steps = { taken: 0 }): FieldError | undefined {
  let values = 1
  let depth = 0
  let isInText = false
  for (let index = 0; index < json.length; index++) {
    steps.taken++
    const character = json[index]
    if (isInText && character === BACKSLASH) index++
    else if (character === QUOTE) isInText = !isInText
    else if (!isInText) {
      if (character === COMMA || character === LIST || character === OBJECT) values++
      if (character === LIST || character === OBJECT) depth++
      if (character === END_OF_LIST || character === END_OF_OBJECT) depth--
      if (values > MAX_VALUES) return fieldError('too_many_values', { max: MAX_VALUES })
      if (depth > MAX_DEPTH) return fieldError('too_deep', { max: MAX_DEPTH })
    }
  }
  return undefined
}

const [QUOTE, BACKSLASH, COMMA, LIST, OBJECT, END_OF_LIST, END_OF_OBJECT] = Buffer.from('"\\,[{]}')

/** With the message of the runtime for a syntax error. */
export function parseJson(text: string): { value: unknown } | { error: FieldError } {
  try {
    const value: unknown = JSON.parse(text)
    return MAY_BE_FORBIDDEN.test(text) && hasForbiddenName(value) ? { error: fieldError('forbidden_name') } : { value }
  } catch (error) {
    return { error: fieldError('invalid_json', { detail: (error as Error).message }) }
  }
}

const MAY_BE_FORBIDDEN = /__proto__|constructor|\\u/

/** Names that change the prototype of an object that is copied. */
function hasForbiddenName(value: unknown): boolean {
  const stack = [value]
  while (stack.length > 0) {
    const next = stack.pop()
    if (typeof next !== 'object' || next === null) continue
    if (Object.hasOwn(next, '__proto__')) return true
    if (Object.hasOwn(next, 'constructor') && Object.hasOwn(Object(next.constructor), 'prototype')) return true
    for (const child of Object.values(next)) stack.push(child)
  }
  return false
}
