import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Match, type Versioned, versionOf } from '../database/versions.ts'
import { Problem } from '../problem.ts'
import { READ_METHODS } from './methods.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The handler compares `request.match` in the change itself. */
    takesIfMatch?: boolean
  }
  interface FastifyRequest {
    /** The versions of `If-Match`; undefined: any version. */
    match: Match
  }
  interface FastifyReply {
    /** The version of the resource in the response. */
    versioned: Versioned | undefined
  }
}

type ObjectSchema = { type?: string; properties?: Record<string, unknown> }

/**
 * Conditional requests, RFC 9110 section 13. The ETag of a resource is its version and a digest of the representation.
 * `If-None-Match` compares the whole tag. `If-Match` compares the version in the statement that changes the row, so that of two
 * requests with the same tag only the first succeeds, in any process. A page of a list has a weak tag, the digest of its text:
 * it saves sending the page, not reading it.
 */
export function handleConditionalRequests(app: FastifyInstance): void {
  const resourceRoutes = new Set<string>()
  const listRoutes = new Set<string>()
  app.decorateRequest('match', undefined)
  app.decorateReply('versioned', undefined)

  app.addHook('onRoute', (route) => {
    if (![route.method].flat().includes('GET')) return
    const schema = (route.schema?.response as Record<string, ObjectSchema> | undefined)?.[200]
    const isList = 'has_more' in (schema?.properties ?? {})
    if (isList) listRoutes.add(route.url)
    else if (schema?.type === 'object') resourceRoutes.add(route.url)
  })

  app.addHook('preHandler', async (request) => {
    const header = request.headers['if-match']?.trim()
    const { config } = request.routeOptions
    if (header === undefined || header === '*' || !config.requiresAuth || !CHANGE_METHODS.has(request.method)) return
    if (!config.takesIfMatch) throw new Problem(412, 'This resource has no ETag. Send the request without If-Match.')
    request.match = parseIfMatch(header)
  })

  app.addHook('preSerialization', async (_request, reply, payload) => {
    reply.versioned = versionOf(payload)
    return payload
  })

  app.addHook('onSend', async (request, reply, payload) => {
    if (typeof payload !== 'string' || reply.statusCode >= 300) return payload
    const isRead = reply.statusCode === 200 && READ_METHODS.has(request.method)
    const isPage = isRead && isApiRoute(request, listRoutes)
    const isTagged = isPage || (isRead && isApiRoute(request, resourceRoutes))
    if (isPage) reply.header('etag', `W/"${digestOf(payload)}"`)
    else if (reply.versioned || isTagged) setTag(reply, reply.versioned, payload)
    const header = request.headers['if-none-match']
    if (!isTagged || header === undefined || !matchesTag(header, String(reply.getHeader('etag')))) return payload
    reply.code(304).removeHeader('content-type')
    return request.method === 'HEAD' ? '' : null
  })
}

/** For a response that is serialized before it is sent. */
export function setETag(reply: FastifyReply, representation: unknown, text: string): void {
  const versioned = versionOf(representation)
  if (versioned) setTag(reply, versioned, text)
}

/** `text`: the response. The tag is the one that GET returns. */
function setTag(reply: FastifyReply, versioned: Versioned | undefined, text: string): void {
  const read = versioned?.asRead ? String(reply.serialize(versioned.asRead)) : text
  const digest = digestOf(read)
  reply.header('etag', versioned ? `"${versioned.version}.${digest}"` : `"${digest}"`)
}

const digestOf = (text: string) => hash('sha256', text, 'base64url').slice(0, 16)

/** Strong comparison, RFC 9110 section 13.1.1. */
function parseIfMatch(header: string): number[] {
  const versions = splitTags(header).map((tag) => /^"(\d{1,15})\.[\w-]{16}"$/.exec(tag)?.[1])
  return versions.filter((version) => version !== undefined).map(Number)
}

/** Weak comparison, RFC 9110 section 13.1.2. */
const matchesTag = (header: string, current: string) =>
  header.trim() === '*' || splitTags(header).some((tag) => withoutWeak(tag) === withoutWeak(current))

const withoutWeak = (tag: string) => tag.replace(/^W\//, '')

const splitTags = (header: string) => header.split(',').map((tag) => tag.trim())

const CHANGE_METHODS = new Set(['PUT', 'PATCH', 'DELETE'])

const isApiRoute = ({ routeOptions: { config, url } }: FastifyRequest, routes: ReadonlySet<string>) =>
  config.requiresAuth === true && url !== undefined && routes.has(url)
