import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Deps } from '../deps.ts'
import { enforceLimit, networkOf, refuseUnknownFields } from '../http/auth-and-rate-limit.ts'
import { Limiter } from '../http/limiter.ts'
import { budgetOf } from '../http/limits.ts'
import { unauthorized } from '../problem.ts'
import { crossSite, readSession, type Session, sourceOf } from './sessions.ts'

export const AUTH_PATH = '/dashboard/auth'
export const DONE = { status: true }

declare module 'fastify' {
  interface FastifyRequest {
    /** Who is signed in; null for nobody. Only on routes about accounts. */
    session: Session | null
  }
}

/**
 * What every request about accounts passes: no page of another site sends it, and it is counted by person, or by address
 * where nobody is signed in.
 */
export function guardAccounts(scope: FastifyInstance, deps: Pick<Deps, 'db' | 'clock' | 'config'>): void {
  const { db, clock, config } = deps
  const limiter = new Limiter({ db, clock })
  refuseUnknownFields(scope)
  scope.decorateRequest('session', null)
  scope.addHook('onRequest', async (request, reply) => {
    const isReading = request.method === 'GET' || request.method === 'HEAD'
    if (!isReading && sourceOf(request, config.baseUrl) === 'another site') throw crossSite()
    request.session = (await readSession(deps, request)) ?? null
    const who = request.session?.personId ?? networkOf(request.ip)
    const budget = budgetOf('dashboard', config.limits)
    enforceLimit(await limiter.take(who, budget), clock.now(), reply, { ...budget, isKnown: request.session !== null })
  })
}

/** In this scope somebody must be signed in: 401. */
export function needSession(scope: FastifyInstance): void {
  scope.addHook('onRequest', async ({ session }) => {
    if (!session) throw unauthorized()
  })
}

/** Who is signed in, on a route that only such people reach. */
export function signedIn({ session }: FastifyRequest): Session {
  if (!session) throw unauthorized()
  return session
}
