import type { FastifyRequest } from 'fastify'
import type { AgentRole } from '#contract/agents.ts'
import type { KeyLimit } from '#contract/api-keys.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Only on routes that need a key or a session. */
    context: RequestContext
  }
}

/** Who does something. `system`: the server by itself. `operator`: anyone who uses its command line. */
export type Actor = { type: 'person' | 'key' | 'system' | 'operator'; id: string; label: string }

/** When and from where something is done. `now`: UTC epoch milliseconds, one for all that the request writes. */
export type Origin = { requestId: string | null; address: string | null; now: number }

/** Who sends a request: a key, or a person who is signed in, in one of the person's organizations. */
export type Caller = {
  organizationId: string
  actor: Actor
  /** What the actor may do. A key counts as the agent who may do as much. */
  role: AgentRole
  /** Undefined for a key. */
  userId?: string
  /** Requests per minute by class, where the key has limits of its own. */
  limits?: Partial<Record<KeyLimit, number>> | undefined
}

/** What stores are handed: in which organization, on whose behalf, when, and from where. Plain data. */
export type RequestContext = Origin & Caller

/** What a read needs of a `RequestContext`; background loops have no more. */
export type Tenant = Pick<RequestContext, 'organizationId'>

type Sent = Pick<FastifyRequest, 'id' | 'ip'>

export const requestOrigin = ({ id, ip }: Sent, now: number): Origin => ({ requestId: id, address: ip, now })

const OF_THE_SERVER = { role: 'owner', requestId: null, address: null } as const
const SYSTEM: Actor = { type: 'system', id: 'system', label: 'Zonewatch' }
export const OPERATOR: Actor = { type: 'operator', id: 'operator', label: 'Command line' }

/** For background loops; `actor` where another service causes the write. */
export const systemContext = (organizationId: string, now: number, actor: Actor = SYSTEM): RequestContext => ({
  ...OF_THE_SERVER,
  organizationId,
  actor,
  now,
})

/** For the command line and the settings that the operator starts the server with. */
export const operatorContext = (organizationId: string, now: number): RequestContext =>
  systemContext(organizationId, now, OPERATOR)
