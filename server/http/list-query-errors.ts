import type { FastifyInstance, RouteOptions } from 'fastify'
import { METADATA_PREFIX } from '#contract/labels.ts'
import { type FieldErrors, invalid, Problem } from '../problem.ts'
import { schemaErrors } from './validation.ts'

/** More than there are places that refuse a parameter. */
const MAX_ATTEMPTS = 6

/**
 * A list names every wrong query parameter at once: those that the schema refuses, and those that only its handler does, such as a time, a
 * cursor or a name. After an error the handler runs again without the wrong parameters, until it finds no other one.
 */
export function reportAllQueryErrors(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const properties = queryPropertiesOf(route)
    if (route.method !== 'GET' || !properties || !('limit' in properties)) return
    const { handler } = route
    route.attachValidation = true
    route.handler = async function (request, reply) {
      const query = request.query as Record<string, unknown>
      const errors: FieldErrors = { ...schemaErrors(request) }
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        const hasErrors = Object.keys(errors).length > 0
        if (hasErrors) request.query = withoutWrong(query, errors, properties)
        try {
          const result = await handler.call(this, request, reply)
          if (!hasErrors) return result
          break
        } catch (error) {
          const found = error instanceof Problem && error.status === 400 ? error.errors : undefined
          if (!found && !hasErrors) throw error
          const count = Object.keys(errors).length
          for (const [name, each] of Object.entries(found ?? {})) errors[name] ??= each
          if (Object.keys(errors).length === count) break
        }
      }
      throw invalid(errors)
    }
  })
}

const queryPropertiesOf = ({ schema }: RouteOptions): object | undefined =>
  (schema?.querystring as { properties?: object } | undefined)?.properties

/** A cursor belongs to filters and order, so it is left out if one of these is wrong. */
function withoutWrong(query: Record<string, unknown>, errors: FieldErrors, properties: object) {
  const isKnown = (name: string) => Object.hasOwn(properties, name) || name.startsWith(METADATA_PREFIX)
  const areFiltersWrong = Object.keys(errors).some((name) => isKnown(name) && !NOT_IN_CURSORS.has(name))
  const isRight = (name: string) => !(name in errors) && isKnown(name) && !(areFiltersWrong && CURSORS.has(name))
  const right = Object.entries(query).filter(([name]) => isRight(name))
  return { ...Object.fromEntries(right), limit: 1 }
}

const CURSORS = new Set(['after', 'before'])
const NOT_IN_CURSORS = new Set([...CURSORS, 'limit', 'include'])
