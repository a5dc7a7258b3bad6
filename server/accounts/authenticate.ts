import type { FastifyRequest } from 'fastify'
import { sql } from 'kysely'
import type { Caller } from '../context.ts'
import type { Database } from '../database/database.ts'
import { ignoreNotWritable } from '../database/unavailable.ts'
import type { Deps } from '../deps.ts'
import { forbidden } from '../problem.ts'
import { findActiveKey, parseLimits } from './api-key-store.ts'
import { AGENT_ROLE_BY_KEY_ROLE, findMembership } from './memberships.ts'
import { readSession } from './request-session.ts'

/**
 * Identifies the caller by `X-Api-Key` or, without that header, by the session cookie. Undefined without either. Every request
 * reads the database, so that a revoked key or a sign-out takes effect at once in every process.
 */
export function authenticator(deps: Pick<Deps, 'db' | 'clock' | 'config'>) {
  const { db, clock, config } = deps
  const setKeyUsed = lastUsedWriter(db, 'api_keys', 'last_used_at')
  const setAgentSeen = lastUsedWriter(db, 'agents', 'last_seen_at')
  return async (request: FastifyRequest): Promise<Caller | undefined> => {
    const header = request.headers['x-api-key']
    const now = clock.now()
    if (header !== undefined) {
      const key = typeof header === 'string' ? await findActiveKey(db, header, now) : undefined
      if (!key) return undefined
      await setKeyUsed(key, key.last_used_at, now)
      const actor = { type: 'key', id: key.id, label: key.name } as const
      const role = AGENT_ROLE_BY_KEY_ROLE[key.role]
      return { organizationId: key.organization_id, role, actor, limits: parseLimits(key, config) }
    }
    const session = await readSession(deps, request)
    if (!session) return undefined
    const membership = await findMembership(db, session.userId, requestedOrganization(request))
    if (!membership) {
      throw forbidden(
        'You are not a member of this organization. Set X-Organization to one of your organizations, or omit it.',
      )
    }
    await setAgentSeen(membership, membership.last_seen_at, now)
    const { organization_id: organizationId, role, id, name: label } = membership
    return { organizationId, role, actor: { type: 'person', id, label }, userId: session.userId }
  }
}

/** Streams and downloads name the organization in the query, because a browser cannot set headers there. */
function requestedOrganization({ headers, method, url }: FastifyRequest): string | undefined {
  const header = headers['x-organization']
  if (typeof header === 'string') return header
  if (method !== 'GET' || !url.startsWith('/dashboard/api/')) return undefined
  return new URLSearchParams(url.split('?')[1]).get('organization') ?? undefined
}

const WRITE_INTERVAL_MS = 60_000
/** Rows whose last write is remembered. Beyond that, the statement itself finds nothing to update. */
const MAX_REMEMBERED = 10_000

/** Writes the time of use at most once a minute for each row, no matter how many requests and processes use it. */
export function lastUsedWriter(db: Database, table: 'api_keys' | 'agents', column: 'last_used_at' | 'last_seen_at') {
  const writtenAt = new Map<string, number>()
  return async (row: { id: string; organization_id: string }, stored: number | null, now: number): Promise<void> => {
    const isRecent = (at: number | null | undefined) => at != null && at <= now && now - at < WRITE_INTERVAL_MS
    if (isRecent(stored) || isRecent(writtenAt.get(row.id))) return
    if (writtenAt.size >= MAX_REMEMBERED) writtenAt.clear()
    writtenAt.set(row.id, now)
    const usedAt = sql.ref(column)
    await sql`update ${sql.table(table)} set ${usedAt} = ${now}
      where organization_id = ${row.organization_id} and id = ${row.id}
      and (${usedAt} is null or ${usedAt} <= ${now - WRITE_INTERVAL_MS} or ${usedAt} > ${now})`
      .execute(db)
      .catch(ignoreNotWritable)
  }
}
