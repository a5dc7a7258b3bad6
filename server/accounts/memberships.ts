import type { Selectable } from 'kysely'
import type { AgentRole } from '#contract/agents.ts'
import type { Database } from '../database/database.ts'
import type { AgentsTable } from '../database/schema-people.ts'
import type { KeyRole } from './api-keys.ts'
import { touchIn } from './touch.ts'

export type Membership = Pick<Selectable<AgentsTable>, 'id' | 'organization_id' | 'role' | 'name' | 'last_seen_at'>

/** A person's membership in the organization that is named, or in the one joined first. */
export async function findMembership(
  db: Database,
  personId: string,
  organizationId?: string,
): Promise<Membership | undefined> {
  const query = db
    .selectFrom('agents')
    .select(['id', 'organization_id', 'role', 'name', 'last_seen_at'])
    .where('person_id', '=', personId)
    .orderBy('id')
    .limit(1)
  const named = organizationId === undefined ? query : query.where('organization_id', '=', organizationId)
  return await named.executeTakeFirst()
}

/**
 * What an agent or a key may do at this moment; undefined for one that was removed or revoked. Under the organization's lock
 * it holds until the transaction ends, so that nobody gives access away while losing it.
 */
export async function roleOfActor(db: Database, organizationId: string, actor: string): Promise<AgentRole | undefined> {
  const agent = await db
    .selectFrom('agents')
    .select('role')
    .where('organization_id', '=', organizationId)
    .where('id', '=', actor)
    .executeTakeFirst()
  if (agent) return agent.role
  const key = await db
    .selectFrom('api_keys')
    .select('role')
    .where('organization_id', '=', organizationId)
    .where('id', '=', actor)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  return key && ROLE_OF_KEY[key.role]
}

/** An admin key may do all that the API offers, billing included. */
export const ROLE_OF_KEY: Record<KeyRole, AgentRole> = { read: 'viewer', write: 'member', admin: 'owner' }

/** Writes when an agent was last seen, at most once a minute. */
export function touchAgent(db: Database) {
  const touch = touchIn(db, 'agents', 'last_seen_at')
  return (membership: Membership, now: number) => touch(membership, membership.last_seen_at, now)
}
