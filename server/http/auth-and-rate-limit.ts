import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import type { Clock } from '../clock.ts'
import { type Caller, requestOrigin } from '../context.ts'
import { Problem, unauthorized } from '../problem.ts'
import { WRITE_METHODS } from './methods.ts'
import type { Limiter } from './rate-limiter.ts'
import {
  budgetOf,
  type CountedBudget,
  classOf,
  type LimitStatus,
  type Limits,
  limitHeaders,
  limitReached,
  secondsUntil,
  UNLIMITED,
} from './rate-limits.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set by `requireAuthentication`. */
    requiresAuth?: boolean
  }
}

export type AccessDeps = {
  clock: Clock
  limiter: Limiter
  limits: Limits
  /** The caller; undefined without a valid API key or session. */
  identify: (request: FastifyRequest) => Promise<Caller | undefined>
  /** Throws 403 if the caller's role does not allow the request. */
  authorize: (request: FastifyRequest) => void
}

const NO_FIELDS = { type: 'object', properties: {}, additionalProperties: false }
/** Fastify validates a missing body as null. */
const NO_BODY = { ...NO_FIELDS, type: ['object', 'null'] }

/** Routes of this scope need an API key or a session, and refuse unknown fields. */
export function requireAuthentication(scope: FastifyInstance): void {
  refuseUnknownFields(scope)
  scope.addHook('onRoute', (route) => {
    route.config = { ...route.config, requiresAuth: true }
  })
}

/** Routes of this scope refuse every query parameter and every body field that their schema does not have. */
export function refuseUnknownFields(scope: FastifyInstance): void {
  scope.addHook('onRoute', (route) => {
    const body = [route.method].flat().some((method) => WRITE_METHODS.has(method)) ? { body: NO_BODY } : {}
    route.schema = { querystring: NO_FIELDS, ...body, ...route.schema }
  })
}

/** Identifies and counts every request before anything else, also one to an unknown path. Refuses it if it is not authorized. */
export function authenticateAndLimit(app: FastifyInstance, access: AccessDeps): void {
  app.addHook('onRequest', async (request, reply) => {
    const isApi = request.routeOptions.config.requiresAuth === true
    if (!isApi && !request.is404) return
    const caller = await identifyAndCount(access, request, reply)
    if (!isApi) return
    if (!caller) throw unauthorized()
    request.context = { ...caller, ...requestOrigin(request, access.clock.now()) }
    access.authorize(request)
  })
}

/** Counts a request by API key or user, or else by address. Throws 429. */
export async function identifyAndCount(
  { clock, limiter, limits, identify }: AccessDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Caller | undefined> {
  const kind = classOf(request.method, request.is404 ? undefined : request.routeOptions.url, request.query)
  // For the 503 that is sent if the database is unavailable.
  const limit = budgetOf(kind, limits).limit || UNLIMITED
  const unknown = { limit, remaining: 0, resetAt: clock.now() + 5_000, isRefused: true }
  reply.headers(limitHeaders(unknown, clock.now()))
  const [identified] = await Promise.allSettled([identify(request)])
  // A caller who is refused is counted too. Any other error fails at once.
  if (identified.status === 'rejected' && !(identified.reason instanceof Problem)) throw identified.reason
  const caller = identified.status === 'fulfilled' ? identified.value : undefined
  const budget = budgetOf(caller?.userId === undefined ? kind : 'dashboard', limits, caller?.limits)
  const status = await limiter.take(caller?.userId ?? caller?.actor.id ?? clientNetwork(request.ip), budget)
  enforceLimit(status, clock.now(), reply, { ...budget, isKnown: caller !== undefined })
  if (identified.status === 'rejected') throw identified.reason
  return caller
}

/** Sets the headers of the limit. Throws 429. */
export function enforceLimit(status: LimitStatus, now: number, reply: FastifyReply, budget: CountedBudget): void {
  reply.headers(limitHeaders(status, now))
  if (!status.isRefused) return
  const seconds = secondsUntil(status.resetAt, now)
  reply.header('retry-after', String(seconds))
  throw new Problem(429, limitReached(budget, status.limit, seconds))
}

/** An IPv4 address, or the /64 of an IPv6 address: one client usually has the whole /64. */
export function clientNetwork(address: string): string {
  return ipv6Network(address, 64) ?? (ipaddr.isValid(address) ? ipaddr.process(address).toString() : 'unknown')
}

/** Undefined for any other address. */
export function ipv6Network(address: string, bits: number): string | undefined {
  if (!ipaddr.isValid(address)) return undefined
  const parsed = ipaddr.process(address)
  if (!(parsed instanceof ipaddr.IPv6)) return undefined
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toNormalizedString()}/${bits}`)}/${bits}`
}
