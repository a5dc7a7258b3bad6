import type { FastifyRequest } from 'fastify'
import type { AgentRole } from '#contract/agents.ts'
import type { KeyLimit } from '#contract/api-keys.ts'
import type { AuditActor } from '#contract/audit-log.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Only on routes that require authentication. */
    context: RequestContext
  }
}

/** Who causes a change. `system`: the server itself. `operator`: a user of the command line. */
export type Actor = { type: AuditActor; id: string; label: string }

/** `now`: UTC epoch milliseconds, the same for everything that a request writes. */
export type Origin = { requestId: string | null; address: string | null; now: number }

/** Who sends a request: an API key, or a signed-in user in one of the user's organizations. */
export type Caller = {
  organizationId: string
  actor: Actor
  /** For a key, the role of an agent with the same permissions. */
  role: AgentRole
  /** Undefined for a key. */
  userId?: string
  /** Requests per minute by class, if the key has its own limits. */
  limits?: Partial<Record<KeyLimit, number>> | undefined
}

/** What stores know about a request. Plain data. */
export type RequestContext = Origin & Caller

/** For reads and background loops. */
export type Tenant = Pick<RequestContext, 'organizationId'>

export const requestOrigin = ({ id, ip }: Pick<FastifyRequest, 'id' | 'ip'>, now: number): Origin => ({
  requestId: id,
  address: ip,
  now,
})

const SYSTEM: Actor = { type: 'system', id: 'system', label: 'Zonewatch' }
export const OPERATOR: Actor = { type: 'operator', id: 'operator', label: 'Command line' }

/** For background loops. `actor`: another service that causes the change. */
export const systemContext = (organizationId: string, now: number, actor: Actor = SYSTEM): RequestContext => ({
  organizationId,
  actor,
  role: 'owner',
  requestId: null,
  address: null,
  now,
})

/** For the command line, and for what the settings create at the start. */
export const operatorContext = (organizationId: string, now: number): RequestContext =>
  systemContext(organizationId, now, OPERATOR)
