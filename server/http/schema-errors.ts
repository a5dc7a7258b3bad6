import type { FastifyRequest } from 'fastify'
import type { FieldErrors } from '../problem.ts'
import { InvalidInput } from './validation.ts'

/**
 * What the schema refuses of a body, or of the query of a request without one, on a route with `attachValidation`: so that it can be
 * reported together with what the schema cannot judge. The body is then an object that may hold anything. Throws what is refused elsewhere, another body, and
 * one that is impossible: what is refused because it takes long to look at is looked at no further.
 */
export function schemaErrors({ validationError: error, body }: FastifyRequest): FieldErrors | undefined {
  if (!error) return undefined
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body)
  const isOfBody = error instanceof InvalidInput && error.validationContext === 'body'
  if (isObject && isOfBody && !error.isImpossible) return error.errors
  const isOfQuery = error instanceof InvalidInput && error.validationContext === 'querystring'
  if (body === undefined && isOfQuery && !error.isImpossible) return error.errors
  throw error
}
