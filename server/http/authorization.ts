import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { AgentRole } from '#contract/agents.ts'
import { forbidden } from '../problem.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Who changes what this route is about; without it members do. Everyone of the organization reads. */
    writeRole?: Changer
    /** Who reads it, where that is not everyone. */
    readRole?: Changer
  }
}

type Changer = 'member' | 'admin' | 'owner'

const RANKS: Record<AgentRole, number> = { viewer: 0, member: 1, admin: 2, owner: 3 }
const READING = new Set(['GET', 'HEAD'])

/** Routes of this scope that do not say it themselves are changed by these. Before the routes. */
export function requireWriteRole(scope: Pick<FastifyInstance, 'addHook'>, who: Changer): void {
  scope.addHook('onRoute', (route) => {
    route.config = { writeRole: who, ...route.config }
  })
}

/** Throws 403 where the caller may not do this. The one place that says who may what. */
export function authorize({ context, method, routeOptions }: FastifyRequest): void {
  const { role, userId } = context
  const { writeRole: changer = 'member', readRole } = routeOptions.config
  const needed = READING.has(method) ? readRole : changer
  if (needed === undefined || RANKS[role] >= RANKS[needed]) return
  throw forbidden(userId === undefined ? keySentence(needed) : PERSON_SENTENCES[needed](role))
}

/** Whether somebody with the role `by` may give this role, change or remove who has it, and see links that give it. */
export const canGrantRole = (by: AgentRole, role: AgentRole): boolean =>
  by === 'owner' || (by === 'admin' && role !== 'owner')

/** Anyone who could make owners could make oneself one. Throws 403. */
export function refuseToGrant(by: AgentRole | undefined, ...roles: AgentRole[]): void {
  if (by !== undefined && roles.every((role) => canGrantRole(by, role))) return
  throw forbidden('Only owners can invite, change and remove owners. Ask an owner of the organization.')
}

const keySentence = (changer: Changer) =>
  changer === 'member'
    ? 'This API key is read-only. Use a key with the role write or admin.'
    : 'This API key cannot change this resource. Use a key with the role admin.'

const PERSON_SENTENCES: Record<Changer, (role: AgentRole) => string> = {
  member: () => 'Your role viewer is read-only. Ask an admin of the organization for the role member.',
  admin: (role) =>
    `This requires the role admin or owner; your role is ${role}. Ask an admin or owner of the organization.`,
  owner: (role) => `This requires the role owner; your role is ${role}. Ask an owner of the organization.`,
}
