import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { AgentRole } from '#contract/agents.ts'
import { forbidden } from '../problem.ts'
import { READ_METHODS } from './methods.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The lowest role that may send writes to this route; by default `member`. */
    writeRole?: RequiredRole
    /** The lowest role that may read; by default every role. */
    readRole?: RequiredRole
  }
}

type RequiredRole = Exclude<AgentRole, 'viewer'>

const RANKS: Record<AgentRole, number> = { viewer: 0, member: 1, admin: 2, owner: 3 }

export const isHigher = (role: AgentRole, other: AgentRole): boolean => RANKS[role] > RANKS[other]

/** Sets the `writeRole` of routes without one. Call it before the routes of the scope. */
export function requireWriteRole(scope: Pick<FastifyInstance, 'addHook'>, writeRole: RequiredRole): void {
  scope.addHook('onRoute', (route) => {
    route.config = { writeRole, ...route.config }
  })
}

/** Throws 403 if the role of the caller is too low for the route. */
export function authorize({ context, method, routeOptions }: FastifyRequest): void {
  const { role, userId } = context
  const { writeRole = 'member', readRole } = routeOptions.config
  const required = READ_METHODS.has(method) ? readRole : writeRole
  if (required === undefined || RANKS[role] >= RANKS[required]) return
  throw forbidden(userId === undefined ? keyText(required, READ_METHODS.has(method)) : USER_TEXTS[required](role))
}

/** Whether a caller may grant this role, change or remove agents who have it, and see invitation links that grant it. */
export const canGrantRole = (callerRole: AgentRole, role: AgentRole): boolean =>
  callerRole === 'owner' || (callerRole === 'admin' && role !== 'owner')

/** Throws 403. */
export function refuseToGrant(callerRole: AgentRole | undefined, ...roles: AgentRole[]): void {
  if (callerRole !== undefined && roles.every((role) => canGrantRole(callerRole, role))) return
  throw forbidden('Only owners can invite, change and remove owners. Ask an owner of the organization.')
}

const keyText = (required: RequiredRole, isRead: boolean) =>
  required === 'member'
    ? 'This API key is read-only. Use a key with the role write or admin.'
    : `This API key cannot ${isRead ? 'read' : 'change'} this resource. Use a key with the role admin.`

const USER_TEXTS: Record<RequiredRole, (role: AgentRole) => string> = {
  member: () => 'Your role viewer is read-only. Ask an admin of the organization for the role member.',
  admin: (role) =>
    `This requires the role admin or owner; your role is ${role}. Ask an admin or owner of the organization.`,
  owner: (role) => `This requires the role owner; your role is ${role}. Ask an owner of the organization.`,
}
