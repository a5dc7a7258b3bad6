import type { Selectable } from 'kysely'
import type { Me } from '#contract/account.ts'
import type { AgentRole } from '#contract/agents.ts'
import packageJson from '../../package.json' with { type: 'json' }
import type { Tenant } from '../context.ts'
import type { Database } from '../database/database.ts'
import type { AgentsTable } from '../database/schema-people.ts'
import { findTenantRow } from '../database/tenant-row.ts'
import type { Deps } from '../deps.ts'
import { newId } from '../ids.ts'
import { forbidden, unauthorized } from '../problem.ts'
import { toIsoOrNull } from '../times.ts'
import type { KeyRole } from './api-key-store.ts'
import { isOperator } from './operators.ts'
import type { User } from './users.ts'

export type Membership = Pick<Selectable<AgentsTable>, 'id' | 'organization_id' | 'role' | 'name' | 'last_seen_at'>

/** Returns the id of the new agent; undefined if the user is an agent of the organization already. */
export async function insertAgent(
  db: Database,
  organizationId: string,
  { user, role }: { user: User; role: AgentRole },
  now: number,
): Promise<string | undefined> {
  const id = newId('agt', now)
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('agents')
    .values({
      id,
      organization_id: organizationId,
      person_id: user.id,
      created_at: now,
      name: user.name,
      email: user.email,
      role,
    })
    .onConflict((conflict) => conflict.columns(['organization_id', 'person_id']).doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 0n ? undefined : id
}

/** The membership in the given organization, or in the one that the user joined first. */
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
  const filtered = organizationId === undefined ? query : query.where('organization_id', '=', organizationId)
  return await filtered.executeTakeFirst()
}

/**
 * The current role of an agent or a key; undefined for a removed agent or a revoked key. Under the organization's lock it does
 * not change until the transaction ends, so that nobody grants access while losing it.
 */
export async function findActorRole(db: Database, tenant: Tenant, actor: string): Promise<AgentRole | undefined> {
  const agent = await findTenantRow(db, 'agents', tenant, actor)
  if (agent) return agent.role
  const key = await findTenantRow(db, 'api_keys', tenant, actor)
  return key?.revoked_at === null ? AGENT_ROLE_BY_KEY_ROLE[key.role] : undefined
}

/** The role up to which the actor changes and removes members. A key that expires is no owner for this. */
export async function findGrantingRole(db: Database, tenant: Tenant, actor: string): Promise<AgentRole | undefined> {
  const role = await findActorRole(db, tenant, actor)
  const key = role === 'owner' ? await findTenantRow(db, 'api_keys', tenant, actor) : undefined
  return key && key.expires_at !== null ? 'admin' : role
}

/** Throws 403 for a key that expires: whoever it invites or promotes would keep the access. */
export async function refuseLastingGrant(db: Database, tenant: Tenant, actor: string): Promise<void> {
  const key = await findTenantRow(db, 'api_keys', tenant, actor)
  if (!key || key.expires_at === null) return
  throw forbidden(
    'This API key expires, so it cannot invite members or raise their roles: they would keep the access. Use the dashboard, or a key without expires.',
  )
}

/** An admin key may use the whole API, including billing. */
export const AGENT_ROLE_BY_KEY_ROLE: Record<KeyRole, AgentRole> = { read: 'viewer', write: 'member', admin: 'owner' }

/** The user and all organizations, in the order of joining. Throws 401 for a deleted user. */
export async function getMe({ db, config }: Pick<Deps, 'db' | 'config'>, userId: string): Promise<Me> {
  const user = await db
    .selectFrom('people')
    .select(['id', 'name', 'email', 'two_factor_enabled'])
    .where('id', '=', userId)
    .executeTakeFirst()
  if (!user) throw unauthorized()
  const organizations = await db
    .selectFrom('agents')
    .innerJoin('organizations', 'organizations.id', 'agents.organization_id')
    .select(['organizations.id', 'organizations.name', 'organizations.slug', 'agents.role', 'agents.id as agent_id'])
    .select('organizations.deletion_at')
    .where('agents.person_id', '=', userId)
    .orderBy('agents.id')
    .limit(1_000)
    .execute()
  const { two_factor_enabled, ...person } = user
  return {
    person: { ...person, two_factor: two_factor_enabled === 1 },
    organizations: organizations.map(({ deletion_at, ...organization }) => ({
      ...organization,
      deletes: toIsoOrNull(deletion_at),
    })),
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
