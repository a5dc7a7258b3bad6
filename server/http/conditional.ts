import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { Problem } from '../problem.ts'
import { conditionsOf, entityTagOf, namesTag } from './entity-tags.ts'
import type { Looks } from './looks.ts'
import { Turns } from './turns.ts'

declare module 'fastify' {
  interface FastifyRequest {
    endTurn: (() => void) | null
  }
}

type ObjectSchema = { type?: string; properties?: Record<string, unknown> }

/**
 * Conditional requests, RFC 9110 section 13: `ETag` and `If-None-Match` where one resource is read, `If-Match` where it is
 * changed or deleted. `If-Match` reads the resource again just before the change. In one process such changes of one
 * address wait for each other, so of two with the same tag only the first is made; between two processes a moment stays.
 */
export function heedConditions(app: FastifyInstance, looks: Looks): void {
  /** Addresses of single resources, and the fields that a PATCH of each can change. */
  const resources = new Set<string>()
  const changeable = new Map<string, ReadonlySet<string>>()
  const turns = new Turns()
  app.decorateRequest('endTurn', null)

  app.addHook('onRoute', (route) => {
    const methods = [route.method].flat()
    if (methods.includes('GET') && answersOne(route)) resources.add(route.url)
    if (methods.includes('PATCH')) changeable.set(route.url, new Set(Object.keys(bodyOf(route))))
  })

  app.addHook('preHandler', async (request) => {
    const header = request.headers['if-match']
    const { config, url } = request.routeOptions
    if (header === undefined || !config.needsKey || !CHANGING.has(request.method)) return
    if (url === undefined || !resources.has(url)) throw stale()
    const [path = ''] = request.url.split('?')
    request.endTurn = await turns.enter(`${request.caller.organizationId} ${path}`)
    for (const { query, isMet } of conditionsOf(header)) {
      const answer = await looks.look(app, request.caller, query === '' ? path : `${path}?${query}`)
      if (answer.statusCode === 404) return // the handler says so
      if (answer.statusCode >= 500) throw new Problem(503, 'The resource cannot be read at the moment; try again.')
      if (answer.statusCode === 200 && isMet(String(answer.headers.etag))) return
    }
    throw stale()
  })

  app.addHook('onSend', async (request, reply, payload) => {
    request.endTurn?.()
    const { url } = request.routeOptions
    if (url === undefined || typeof payload !== 'string' || !isResource(request, reply, resources)) return payload
    const tag = entityTagOf(payload, changeable.get(url), request.url.split('?')[1] ?? '')
    reply.header('etag', tag)
    const known = request.headers['if-none-match']
    if (known === undefined || request.method === 'PATCH' || !namesTag(known, tag)) return payload
    reply.code(304).removeHeader('content-type')
    return request.method === 'HEAD' ? '' : null
  })

  app.addHook('onResponse', async (request) => request.endTurn?.())
}

const CHANGING = new Set(['PATCH', 'DELETE'])
const SHOWING = new Set(['GET', 'HEAD', 'PATCH'])

function isResource(request: FastifyRequest, reply: FastifyReply, resources: ReadonlySet<string>): boolean {
  const { config, url } = request.routeOptions
  if (!config.needsKey || url === undefined || !resources.has(url)) return false
  return reply.statusCode === 200 && SHOWING.has(request.method)
}

/** A page or a bare list is not one resource. */
function answersOne({ schema }: RouteOptions): boolean {
  const answer = (schema?.response as Record<string, ObjectSchema> | undefined)?.[200]
  return answer?.type === 'object' && !('has_more' in (answer.properties ?? {}))
}

const bodyOf = ({ schema }: RouteOptions): object => (schema?.body as ObjectSchema | undefined)?.properties ?? {}

const stale = () =>
  new Problem(412, 'The resource has changed since you read it, or has no such ETag; read it again, then decide.')
