import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { type Match, type Versioned, versionOf } from '../database/versions.ts'
import { Problem } from '../problem.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The handler compares `request.match` in the change itself. */
    takesIfMatch?: boolean
  }
  interface FastifyRequest {
    /** Which versions of the resource may be changed. */
    match: Match
  }
  interface FastifyReply {
    /** Of the resource that is answered, where it has one. */
    versioned: Versioned | undefined
  }
}

type ObjectSchema = { type?: string; properties?: Record<string, unknown> }

/**
 * Conditional requests, RFC 9110 section 13: `ETag` where an answer is one resource, `If-None-Match` where it is read, and
 * `If-Match` where it is changed or deleted. A tag is the resource's version and a digest of the representation.
 * `If-None-Match` compares all of it. `If-Match` compares the version, in the statement that changes the row, so that of two
 * requests with one tag only the first changes something, in whichever processes they are. A page of a list has a weak tag, a
 * digest of its text: it saves sending the page, not reading it.
 */
export function handleConditionalRequests(app: FastifyInstance): void {
  /** Addresses of single resources. */
  const resources = new Set<string>()
  const lists = new Set<string>()
  app.decorateRequest('match', undefined)
  app.decorateReply('versioned', undefined)

  app.addHook('onRoute', (route) => {
    if (![route.method].flat().includes('GET')) return
    if (answersOne(route)) resources.add(route.url)
    if (answersPage(route)) lists.add(route.url)
  })

  app.addHook('preHandler', async (request) => {
    const header = request.headers['if-match']?.trim()
    const { config } = request.routeOptions
    if (header === undefined || header === '*' || !config.requiresAuth || !CHANGING.has(request.method)) return
    if (!config.takesIfMatch) throw notTaken()
    request.match = versionsIn(header)
  })

  app.addHook('preSerialization', async (_request, reply, payload) => {
    reply.versioned = versionOf(payload)
    return payload
  })

  app.addHook('onSend', async (request, reply, payload) => {
    if (typeof payload !== 'string' || reply.statusCode >= 300) return payload
    const isRead = reply.statusCode === 200 && READING.has(request.method)
    const isPage = isRead && isOneOf(request, lists)
    const isTagged = isPage || (isRead && isOneOf(request, resources))
    if (isPage) reply.header('etag', `W/"${digestOf(payload)}"`)
    else if (reply.versioned || isTagged) tag(reply, reply.versioned, payload)
    const known = request.headers['if-none-match']
    if (!isTagged || known === undefined || !namesTag(known, String(reply.getHeader('etag')))) return payload
    reply.code(304).removeHeader('content-type')
    return request.method === 'HEAD' ? '' : null
  })
}

/** For an answer that is written before it is sent. */
export function setETag(reply: FastifyReply, representation: unknown, text: string): void {
  const versioned = versionOf(representation)
  if (versioned) tag(reply, versioned, text)
}

/** `text`: of the answer. The tag is that of the text which GET answers. */
function tag(reply: FastifyReply, versioned: Versioned | undefined, text: string): void {
  const read = versioned?.asRead ? String(reply.serialize(versioned.asRead)) : text
  const digest = digestOf(read)
  reply.header('etag', versioned ? `"${versioned.version}.${digest}"` : `"${digest}"`)
}

const digestOf = (text: string) => hash('sha256', text, 'base64url').slice(0, 16)

/** What an `If-Match` names; strong comparison, RFC 9110 section 13.1.1. */
function versionsIn(header: string): number[] {
  const versions = listOf(header).map((each) => /^"(\d{1,15})\.[\w-]{16}"$/.exec(each)?.[1])
  return versions.filter((each) => each !== undefined).map(Number)
}

/** Whether an `If-None-Match` names this tag; weak comparison, RFC 9110 section 13.1.2. */
const namesTag = (header: string, tag: string) =>
  header.trim() === '*' || listOf(header).some((each) => opaque(each) === opaque(tag))

const opaque = (tag: string) => tag.replace(/^W\//, '')

const listOf = (header: string) => header.split(',').map((each) => each.trim())

const CHANGING = new Set(['PUT', 'PATCH', 'DELETE'])
const READING = new Set(['GET', 'HEAD'])

const isOneOf = ({ routeOptions: { config, url } }: FastifyRequest, routes: ReadonlySet<string>) =>
  config.requiresAuth === true && url !== undefined && routes.has(url)

/** A page or a bare list is not one resource. */
const answersOne = (route: RouteOptions) => answerOf(route)?.type === 'object' && !answersPage(route)
const answersPage = (route: RouteOptions) => 'has_more' in (answerOf(route)?.properties ?? {})

const answerOf = ({ schema }: RouteOptions) => (schema?.response as Record<string, ObjectSchema> | undefined)?.[200]

const notTaken = () => new Problem(412, 'This resource has no ETag. Send the request without If-Match.')
