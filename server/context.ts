import type { FastifyRequest } from 'fastify'
import type { AgentRole } from '#contract/agents.ts'

/** On whose behalf a request acts: of a key, or of a person who is signed in. */
export type Caller = {
  organizationId: string
  /** What it may do. A key counts as the agent who may do as much. */
  role: AgentRole
  /** The key (`key_…`) or the agent (`agt_…`). */
  actor: string
  /** The name of the key or of the agent. */
  label: string
  /** Undefined for a key. */
  personId?: string
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller
    /** Only where there is a caller. */
    context: Context
  }
}

/** Who does something. `system`: the server by itself. `operator`: whoever uses its command line. */
export type Actor = { type: 'person' | 'key' | 'system' | 'operator'; id: string; label: string }

/** When and from where something is done. `now`: UTC epoch milliseconds, one for all that the request writes. */
export type Origin = { requestId: string | null; address: string | null; now: number }

/** What stores are handed with a write: in which organization, on whose behalf, and from where. Plain data. */
export type Context = Origin & { organizationId: string; actor: Actor; role: AgentRole }

type Sent = Pick<FastifyRequest, 'id' | 'ip'>

export const originOf = ({ id, ip }: Sent, now: number): Origin => ({ requestId: id, address: ip, now })

/** Of a request that passed authentication. */
export function contextOf(request: Sent & Pick<FastifyRequest, 'caller'>, now: number): Context {
  const { organizationId, role, actor: id, label, personId } = request.caller
  const type = personId === undefined ? 'key' : 'person'
  return { organizationId, role, actor: { type, id, label }, ...originOf(request, now) }
}

const OF_THE_SERVER = { role: 'owner', requestId: null, address: null } as const
const SYSTEM: Actor = { type: 'system', id: 'system', label: 'Zonewatch' }
const OPERATOR: Actor = { type: 'operator', id: 'operator', label: 'Command line' }

/** For background loops; `actor` where another service causes the write. */
export const systemContext = (organizationId: string, now: number, actor: Actor = SYSTEM): Context => ({
  ...OF_THE_SERVER,
  organizationId,
  actor,
  now,
})

/** For the command line and the settings that the operator starts the server with. */
export const operatorContext = (organizationId: string, now: number): Context =>
  systemContext(organizationId, now, OPERATOR)
