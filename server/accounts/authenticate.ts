import type { FastifyRequest } from 'fastify'
import type { Caller } from '../context.ts'
import type { Deps } from '../deps.ts'
import { forbidden } from '../problem.ts'
import { ownLimits } from './api-key-limits.ts'
import { findLiveKey, touchKey } from './api-keys.ts'
import { AGENT_ROLE_BY_KEY_ROLE, findMembership, touchAgent } from './memberships.ts'
import { readSession } from './sessions.ts'

/**
 * Who sends a request: by its `X-Api-Key`, or without one by the cookie of a session; undefined without either. Looked up
 * each time: revoking and signing out hold at once, in every process.
 */
export function authenticator(deps: Pick<Deps, 'db' | 'clock' | 'config'>) {
  const { db, clock, config } = deps
  const touch = touchKey(db)
  const see = touchAgent(db)
  return async (request: FastifyRequest): Promise<Caller | undefined> => {
    const sent = request.headers['x-api-key']
    const now = clock.now()
    if (sent !== undefined) {
      const key = typeof sent === 'string' ? await findLiveKey(db, sent, now) : undefined
      if (!key) return undefined
      await touch(key, now)
      const actor = { type: 'key', id: key.id, label: key.name } as const
      return {
        organizationId: key.organization_id,
        role: AGENT_ROLE_BY_KEY_ROLE[key.role],
        actor,
        limits: ownLimits(key, config),
      }
    }
    const session = await readSession(deps, request)
    if (!session) return undefined
    const membership = await findMembership(db, session.userId, organizationNamedBy(request))
    if (!membership) throw noMembership()
    await see(membership, now)
    const { organization_id: organizationId, role, id, name: label } = membership
    return { organizationId, role, actor: { type: 'person', id, label }, userId: session.userId }
  }
}

/** Where a browser cannot set headers, for a stream or a download, the query names it. */
function organizationNamedBy({ headers, method, url }: FastifyRequest): string | undefined {
  const named = headers['x-organization']
  if (typeof named === 'string') return named
  if (method !== 'GET' || !url.startsWith('/dashboard/api/')) return undefined
  return new URLSearchParams(url.split('?')[1]).get('organization') ?? undefined
}

const noMembership = () =>
  forbidden('You are not a member of this organization. Set X-Organization to one of your organizations, or omit it.')
