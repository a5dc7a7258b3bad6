import type { Selectable } from 'kysely'
import type { Database } from '../database/database.ts'
import type { AgentsTable } from '../database/schema-people.ts'
import { touchIn } from './touch.ts'

export type Membership = Pick<Selectable<AgentsTable>, 'id' | 'organization_id' | 'role' | 'last_seen_at'>

/** A person's membership in the organization that is named, or in the one joined first. */
export async function findMembership(
  db: Database,
  personId: string,
  organizationId?: string,
): Promise<Membership | undefined> {
  const query = db
    .selectFrom('agents')
    .select(['id', 'organization_id', 'role', 'last_seen_at'])
    .where('person_id', '=', personId)
    .orderBy('id')
    .limit(1)
  const named = organizationId === undefined ? query : query.where('organization_id', '=', organizationId)
  return await named.executeTakeFirst()
}

/** Writes when an agent was last seen, at most once a minute. */
export function touchAgent(db: Database) {
  const touch = touchIn(db, 'agents', 'last_seen_at')
  return (membership: Membership, now: number) => touch(membership, membership.last_seen_at, now)
}
