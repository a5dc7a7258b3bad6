import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import type { Clock } from '../clock.ts'
import { type Caller, requestOrigin } from '../context.ts'
import { Problem, unauthorized } from '../problem.ts'
import type { Limiter } from './limiter.ts'
import {
  budgetOf,
  type Counted,
  classOf,
  type LimitStatus,
  type Limits,
  limitHeaders,
  limitReached,
  secondsToWait,
  unlimited,
} from './limits.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** A route of the API: it needs a key and is counted. */
    requiresAuth?: boolean
  }
}

export type AccessDeps = {
  clock: Clock
  limiter: Limiter
  limits: Limits
  /** Who sends the request; undefined without a valid key. */
  identify: (request: FastifyRequest) => Promise<Caller | undefined>
  /** Throws 403 where the request's caller may not do this. */
  authorize: (request: FastifyRequest) => void
}

/** What a route takes that says nothing of a query or a body: none. */
const Nothing = { type: 'object', properties: {}, additionalProperties: false }
/** Fastify gives a body that was not sent to the validator as null. */
const NoBody = { ...Nothing, type: ['object', 'null'] }
const WITH_BODY = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

/** Makes every route of this scope, and of the scopes in it, one that needs a key and takes what it describes. */
export function requireAuthentication(scope: FastifyInstance): void {
  refuseUnknownFields(scope)
  scope.addHook('onRoute', (route) => {
    route.config = { ...route.config, requiresAuth: true }
  })
}

/** Routes of this scope refuse every query parameter and every body field that they do not describe. */
export function refuseUnknownFields(scope: FastifyInstance): void {
  scope.addHook('onRoute', (route) => {
    const body = [route.method].flat().some((method) => WITH_BODY.has(method)) ? { body: NoBody } : {}
    route.schema = { querystring: Nothing, ...body, ...route.schema }
  })
}

/** What a request passes before anything else: it is identified, counted, and then refused or let through. */
export function authenticateAndLimit(app: FastifyInstance, gate: AccessDeps): void {
  app.addHook('onRequest', async (request, reply) => {
    const isApi = request.routeOptions.config.requiresAuth === true
    if (!isApi && !request.is404) return
    const caller = await identifyAndCount(gate, request, reply)
    if (!isApi) return
    if (!caller) throw unauthorized()
    request.context = { ...caller, ...requestOrigin(request, gate.clock.now()) }
    gate.authorize(request)
  })
}

/** Counts a request by its key or person, or by the client's address where it has neither. Throws 429. */
export async function identifyAndCount(
  { clock, limiter, limits, identify }: AccessDeps,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const kind = classOf(request.method, request.is404 ? undefined : request.routeOptions.url, request.query)
  // Stands until the database has answered; when it does not, this goes with the 503.
  const limit = budgetOf(kind, limits).limit || unlimited(0).limit
  const unknown = { limit, remaining: 0, freeAt: clock.now() + 5_000, isRefused: true }
  reply.headers(limitHeaders(unknown, clock.now()))
  const identified = await settled(identify(request))
  const caller = identified.status === 'fulfilled' ? identified.value : undefined
  const budget = budgetOf(caller?.userId === undefined ? kind : 'dashboard', limits, caller?.limits)
  const standing = await limiter.take(caller?.userId ?? caller?.actor.id ?? clientNetwork(request.ip), budget)
  enforceLimit(standing, clock.now(), reply, { ...budget, isKnown: caller !== undefined })
  if (identified.status === 'rejected') throw identified.reason
  return caller
}

/** Sets the headers of the limit. Throws 429 when it is reached. */
export function enforceLimit(standing: LimitStatus, now: number, reply: FastifyReply, counted: Counted): void {
  reply.headers(limitHeaders(standing, now))
  if (!standing.isRefused) return
  const seconds = secondsToWait(standing, now)
  reply.header('retry-after', String(seconds))
  throw new Problem(429, limitReached(counted, standing, seconds))
}

/** Who is refused is counted like everybody else. What is no refusal fails at once. */
async function settled<T>(work: Promise<T>) {
  const [result] = await Promise.allSettled([work])
  if (result.status === 'rejected' && !(result.reason instanceof Problem)) throw result.reason
  return result
}

/** An IPv4 address, or the /64 of an IPv6 address: anyone who has one address of it has them all. */
export function clientNetwork(address: string): string {
  return ipv6Network(address, 64) ?? (ipaddr.isValid(address) ? ipaddr.process(address).toString() : 'unknown')
}

/** Undefined if it is not an IPv6 address. */
export function ipv6Network(address: string, bits: number): string | undefined {
  if (!ipaddr.isValid(address)) return undefined
  const parsed = ipaddr.process(address)
  if (!(parsed instanceof ipaddr.IPv6)) return undefined
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toNormalizedString()}/${bits}`)}/${bits}`
}
