import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import type { Clock } from '../clock.ts'
import { type Caller, requestOrigin } from '../context.ts'
import { Problem, unauthorized } from '../problem.ts'
import { WRITE_METHODS } from './methods.ts'
import type { Limiter } from './rate-limiter.ts'
import {
  type Budget,
  budgetOf,
  type CountedBudget,
  classOf,
  type LimitStatus,
  type Limits,
  limitHeaders,
  limitReached,
  ORGANIZATION_FACTOR,
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

/** Of the API, or for an unknown path. Other responses have no headers of a limit. */
export const countsRequests = ({ routeOptions, is404 }: FastifyRequest): boolean =>
  routeOptions.config.requiresAuth === true || is404

/** Identifies and counts every request before anything else, also one to an unknown path. Refuses it if it is not authorized. */
export function authenticateAndLimit(app: FastifyInstance, access: AccessDeps): void {
  app.addHook('onRequest', async (request, reply) => {
    if (!countsRequests(request)) return
    const caller = await identifyAndCount(access, request, reply)
    if (request.is404) return
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
  const { status, counted } = await countRequest(limiter, caller, clientNetwork(request.ip), budget)
  enforceLimit(status, clock.now(), reply, { ...budget, counted })
  if (identified.status === 'rejected') throw identified.reason
  return caller
}

/**
 * By user or address; of a key, also by its organization, because an organization can have many keys. Returns the limit that is reached
 * first.
 */
async function countRequest(
  limiter: Limiter,
  caller: Caller | undefined,
  network: string,
  budget: Budget,
): Promise<{ status: LimitStatus; counted: CountedBudget['counted'] }> {
  if (!caller) return { status: await limiter.take(network, budget), counted: 'address' }
  if (caller.userId !== undefined) return { status: await limiter.take(caller.userId, budget), counted: 'user' }
  const shared = { kind: budget.kind, limit: ORGANIZATION_FACTOR * budget.limit }
  const full = limiter.refusal(caller.organizationId, shared)
  if (full) return { status: full, counted: 'organization' }
  const own = await limiter.take(caller.actor.id, budget)
  if (own.isRefused) return { status: own, counted: 'key' }
  const all = await limiter.take(caller.organizationId, shared)
  return all.isRefused || all.remaining < own.remaining
    ? { status: all, counted: 'organization' }
    : { status: own, counted: 'key' }
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
