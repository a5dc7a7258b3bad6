import type { FastifyInstance, FastifyRequest } from 'fastify'
import { requestOrigin } from '../context.ts'
import type { Deps } from '../deps.ts'
import { clientNetwork, enforceLimit, refuseUnknownFields } from '../http/auth-and-rate-limit.ts'
import { READ_METHODS } from '../http/methods.ts'
import { Limiter } from '../http/rate-limiter.ts'
import { budgetOf } from '../http/rate-limits.ts'
import { forbidden, unauthorized } from '../problem.ts'
import { readCookie } from './cookies.ts'
import { type BrowserOrigin, findSession, type Session } from './sessions.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Null if nobody is signed in. Only on account routes. */
    session: Session | null
  }
}

type SessionDeps = Pick<Deps, 'db' | 'clock' | 'config'>

/** The path and the response of most account routes. */
export const AUTH_PATH = '/dashboard/auth'
export const DONE = { status: true }

/**
 * For account routes: refuses requests from other sites, and limits requests by user, or by network if nobody is signed
 * in.
 */
export function protectAccountRoutes(scope: FastifyInstance, deps: SessionDeps): void {
  const { db, clock, config } = deps
  const limiter = new Limiter({ db, clock })
  refuseUnknownFields(scope)
  scope.decorateRequest('session', null)
  scope.addHook('onRequest', async (request, reply) => {
    if (!READ_METHODS.has(request.method) && requestSource(request, config.baseUrl) === 'another site')
      throw crossSiteProblem()
    request.session = (await readSession(deps, request)) ?? null
    const subject = request.session?.userId ?? clientNetwork(request.ip)
    const budget = budgetOf('dashboard', config.limits)
    enforceLimit(await limiter.take(subject, budget), clock.now(), reply, {
      ...budget,
      counted: request.session === null ? 'address' : 'user',
    })
  })
}

/**
 * The session of the request's cookie; undefined without one. A request from another site has no session to read with, and
 * throws 403 if it would change something.
 */
export async function readSession(deps: SessionDeps, request: FastifyRequest): Promise<Session | undefined> {
  const token = readCookie(request, deps.config, 'session_token')
  if (token === undefined) return undefined
  const isRead = READ_METHODS.has(request.method)
  const source = requestSource(request, deps.config.baseUrl)
  if (source === 'another site' && isRead) return undefined
  if (source !== 'this server' && !isRead) throw crossSiteProblem()
  return await findSession(deps.db, token, deps.clock.now())
}

/** Requests of this scope need a session: 401. */
export function requireSession(scope: FastifyInstance): void {
  scope.addHook('onRequest', async ({ session }) => {
    if (!session) throw unauthorized()
  })
}

/** Throws 401 without a session. */
export function getSession({ session }: FastifyRequest): Session {
  if (!session) throw unauthorized()
  return session
}

export const browserOrigin = (request: FastifyRequest, now: number): BrowserOrigin => ({
  ...requestOrigin(request, now),
  address: request.ip,
  userAgent: request.headers['user-agent']?.slice(0, 500) ?? null,
})

/**
 * Where a request comes from, according to the browser. `this server`: one of its pages, or the user directly.
 * `Sec-Fetch-Site` takes precedence over `Origin`. No page can set these headers.
 */
function requestSource({ headers, host }: FastifyRequest, baseUrl: string): 'this server' | 'another site' | 'unknown' {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin' || site === 'none' ? 'this server' : 'another site'
  const { origin } = headers
  if (origin === undefined) return 'unknown'
  const isSameOrigin = origin === new URL(baseUrl).origin || (URL.canParse(origin) && new URL(origin).host === host)
  return isSameOrigin ? 'this server' : 'another site'
}

const crossSiteProblem = () =>
  forbidden('Cross-site request refused (Sec-Fetch-Site or Origin). Use the dashboard of this server.')
