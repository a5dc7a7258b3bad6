import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import type { Clock } from '../clock.ts'
import { Problem, unauthorized } from '../problem.ts'
import type { Limiter } from './limiter.ts'
import { classOf, limitHeaders, secondsToWait } from './limits.ts'
import type { Looks } from './looks.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A route of the API: it needs a key and is counted. */
    needsKey?: boolean
  }
}

export type Gate = {
  clock: Clock
  limiter: Limiter
  looks: Looks
  /** Who sends the request; undefined without a valid key. */
  identify: (request: FastifyRequest) => Promise<FastifyRequest['caller'] | undefined>
  /** Throws 403 where this caller may not do this. */
  permit: (caller: FastifyRequest['caller'], method: string) => void
}

/** What a route takes that says nothing of a query or a body: none. */
const Nothing = { type: 'object', properties: {}, additionalProperties: false }
/** Fastify gives a body that was not sent to the validator as null. */
const NoBody = { ...Nothing, type: ['object', 'null'] }
const WITH_BODY = new Set(['POST', 'PUT', 'PATCH'])

/** Makes every route of this scope, and of the scopes in it, one that needs a key and takes what it describes. */
export function needKey(scope: FastifyInstance): void {
  scope.addHook('onRoute', (route) => {
    route.config = { ...route.config, needsKey: true }
    const body = [route.method].flat().some((method) => WITH_BODY.has(method)) ? { body: NoBody } : {}
    route.schema = { querystring: Nothing, ...body, ...route.schema }
  })
}

/** What a request passes before anything else: it is identified, counted, and then refused or let through. */
export function guard(app: FastifyInstance, gate: Gate): void {
  app.addHook('onRequest', async (request, reply) => {
    const isApi = request.routeOptions.config.needsKey === true
    if (!isApi && !request.is404) return
    const inside = gate.looks.callerOf(request)
    const caller = inside ?? (await count(gate, request, reply))
    if (!isApi) return
    if (!caller) throw unauthorized()
    request.caller = caller
    gate.permit(caller, request.method)
  })
}

/** Counts a request by its key, or by the client's address where it has no valid one. Throws 429. */
export async function count({ clock, limiter, identify }: Gate, request: FastifyRequest, reply: FastifyReply) {
  const kind = classOf(request.method, request.is404 ? undefined : request.routeOptions.url)
  // Stands until the database has answered; when it does not, this goes with the 503.
  const unknown = { limit: limiter.limitOf(kind), remaining: 0, freeAt: clock.now() + 5_000, isRefused: true }
  reply.headers(limitHeaders(unknown, clock.now()))
  const caller = await identify(request)
  const standing = await limiter.take(caller?.keyId ?? networkOf(request.ip), kind)
  const now = clock.now()
  reply.headers(limitHeaders(standing, now))
  if (!standing.isRefused) return caller
  const seconds = secondsToWait(standing, now)
  reply.header('retry-after', String(seconds))
  throw new Problem(429, `Too many requests; try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`)
}

/** An IPv4 address, or the /64 of an IPv6 address: whoever has one address of it has them all. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return 'unknown'
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv6)
    return `${ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toNormalizedString()}/64`)}/64`
  return parsed.toString()
}
