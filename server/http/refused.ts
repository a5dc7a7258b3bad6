import type { FastifyRequest } from 'fastify'
import type { FieldErrors } from '../problem.ts'
import { InvalidInput } from './validation.ts'

/**
 * What the schema refuses of a body, on a route with `attachValidation`: so that it can be reported together with what the
 * schema cannot judge. The body is then an object that may hold anything. Throws what is refused elsewhere, and another body.
 */
export function refusedBySchema({ validationError: error, body }: FastifyRequest): FieldErrors | undefined {
  if (!error) return undefined
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body)
  if (isObject && error instanceof InvalidInput && error.validationContext === 'body') return error.errors
  throw error
}
