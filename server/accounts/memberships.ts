import type { Selectable } from 'kysely'
import type { Me } from '#contract/account.ts'
import type { AgentRole } from '#contract/agents.ts'
import packageJson from '../../package.json' with { type: 'json' }
import type { Tenant } from '../context.ts'
import type { Database } from '../database/database.ts'
import type { AgentsTable } from '../database/schema-people.ts'
import type { Deps } from '../deps.ts'
import { unauthorized } from '../problem.ts'
import type { KeyRole } from './api-keys.ts'
import { touchIn } from './last-used.ts'
import { isOperator } from './operators.ts'

export type Membership = Pick<Selectable<AgentsTable>, 'id' | 'organization_id' | 'role' | 'name' | 'last_seen_at'>

/** A person's membership in the organization that is named, or in the one joined first. */
export async function findMembership(
  db: Database,
  userId: string,
  organizationId?: string,
): Promise<Membership | undefined> {
  const query = db
    .selectFrom('agents')
    .select(['id', 'organization_id', 'role', 'name', 'last_seen_at'])
    .where('person_id', '=', userId)
    .orderBy('id')
    .limit(1)
  const named = organizationId === undefined ? query : query.where('organization_id', '=', organizationId)
  return await named.executeTakeFirst()
}

/**
 * What an agent or a key may do at this moment; undefined for one that was removed or revoked. Under the organization's lock
 * it holds until the transaction ends, so that nobody gives access away while losing it.
 */
export async function findActorRole(
  db: Database,
  { organizationId }: Tenant,
  actor: string,
): Promise<AgentRole | undefined> {
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
  return key && AGENT_ROLE_BY_KEY_ROLE[key.role]
}

/** An admin key may do all that the API offers, billing included. */
export const AGENT_ROLE_BY_KEY_ROLE: Record<KeyRole, AgentRole> = { read: 'viewer', write: 'member', admin: 'owner' }

/** Writes when an agent was last seen, at most once a minute. */
export function touchAgent(db: Database) {
  const touch = touchIn(db, 'agents', 'last_seen_at')
  return (membership: Membership, now: number) => touch(membership, membership.last_seen_at, now)
}

/** The person and all organizations, in the order of joining. Throws 401 for one who is gone. */
export async function getMe({ db, config }: Pick<Deps, 'db' | 'config'>, userId: string): Promise<Me> {
  const person = await db
    .selectFrom('people')
    .select(['id', 'name', 'email', 'two_factor_enabled'])
    .where('id', '=', userId)
    .executeTakeFirst()
  if (!person) throw unauthorized()
  const organizations = await db
    .selectFrom('agents')
    .innerJoin('organizations', 'organizations.id', 'agents.organization_id')
    .select(['organizations.id', 'organizations.name', 'organizations.slug', 'agents.role', 'agents.id as agent_id'])
    .where('agents.person_id', '=', userId)
    .orderBy('agents.id')
    .limit(1_000)
    .execute()
  const { two_factor_enabled, ...shown } = person
  return {
    person: { ...shown, two_factor: two_factor_enabled === 1 },
    organizations,
    server: {
      base_url: config.baseUrl,
      version: packageJson.version,
      sends_mail: config.smtp !== null,
      takes_payments: config.stripe !== null,
      sign_up: config.signUp === 'open',
    },
    operator: await isOperator({ db, config }, userId),
  }
}
