import { type Selectable, sql } from 'kysely'
import type { Database } from '../database/database.ts'
import type { AgentsTable } from '../database/schema-people.ts'

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

/** `last_seen` is written at most this often for each agent. */
const LAST_SEEN_MS = 60_000
/** Agents whose last visit is remembered; beyond that the statement itself finds nothing to write. */
const REMEMBERED = 10_000

/** Writes when an agent was last seen, at most once in `LAST_SEEN_MS` however many requests and processes see it. */
export function touchAgent(db: Database) {
  const written = new Map<string, number>()
  return async ({ id, organization_id, last_seen_at }: Membership, now: number): Promise<void> => {
    const isFresh = (at: number | null | undefined) => at != null && at <= now && now - at < LAST_SEEN_MS
    if (isFresh(last_seen_at) || isFresh(written.get(id))) return
    if (written.size >= REMEMBERED) written.clear()
    written.set(id, now)
    const isStale = sql<boolean>`(last_seen_at is null or last_seen_at <= ${now - LAST_SEEN_MS} or last_seen_at > ${now})`
    await db
      .updateTable('agents')
      .set({ last_seen_at: now })
      .where('organization_id', '=', organization_id)
      .where('id', '=', id)
      .where(isStale)
      .execute()
  }
}
