import type { Selectable } from 'kysely'
import type { Agent, AgentChange, AgentRole } from '#contract/agents.ts'
import { recordAudit } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { listPage, type Page, type PageQuery } from '../database/pagination.ts'
import type { AgentsTable } from '../database/schema-people.ts'
import { deleteTenantRow, getTenantRow, lockOrganization, updateTenantRow } from '../database/tenant-row.ts'
import { type Match, nextVersion, refuseStale, withVersion } from '../database/versions.ts'
import { isHigher, refuseToGrant } from '../http/authorization.ts'
import type { Keyring } from '../keyring.ts'
import { normalizeAddress, requestConfirmations } from '../mail/addresses.ts'
import { conflict } from '../problem.ts'
import { toIso, toIsoOrNull } from '../times.ts'
import { limitKeysOfAgent } from './api-key-store.ts'
import { revokeInvitationsOfAgent } from './invitations.ts'
import { findGrantingRole, insertAgent, refuseLastingGrant } from './memberships.ts'
import type { User } from './users.ts'

type AgentRow = Selectable<AgentsTable>

const ORDERS = { created: { column: 'agents.id' }, name: { column: 'agents.name' }, email: { column: 'agents.email' } }

export async function listAgents(
  db: Database,
  keyring: Keyring,
  { organizationId }: Tenant,
  query: PageQuery,
): Promise<Page<Agent>> {
  const rows = db.selectFrom('agents').selectAll('agents').where('agents.organization_id', '=', organizationId)
  const scope = ['agents', organizationId]
  const page = await listPage<AgentRow>(rows, { keyring, query, id: 'agents.id', orders: ORDERS, scope })
  return { ...page, data: page.data.map(toAgent) }
}

/** Throws `not_found`. */
export async function getAgent(db: Database, tenant: Tenant, id: string): Promise<Agent> {
  return toAgent(await getTenantRow(db, 'agents', tenant, id))
}

/**
 * Asks a new `notification_email` to confirm. A lower role also lowers the agent's keys and revokes open invitations to higher roles. Throws 409 for the last owner, 403 if
 * only owners may do it.
 */
export async function updateAgent(
  { db, keyring }: { db: Database; keyring: Keyring },
  context: RequestContext,
  id: string,
  change: AgentChange,
  match?: Match,
): Promise<Agent> {
  const { organizationId } = context
  return await inTransaction(db, async (transaction) => {
    await lockOrganization(transaction, organizationId)
    const row = await getTenantRow(transaction, 'agents', context, id)
    refuseStale(row, match)
    const role = change.role ?? row.role
    refuseToGrant(await findGrantingRole(transaction, context, context.actor.id), row.role, role)
    if (isHigher(role, row.role)) await refuseLastingGrant(transaction, context, context.actor.id)
    if (role !== 'owner') await refuseLastOwner(transaction, row)
    const email = change.notification_email && normalizeAddress(change.notification_email)
    const set = {
      name: change.name ?? row.name,
      role,
      notification_email: email === undefined ? row.notification_email : email,
    }
    if (email) await requestConfirmations(transaction, keyring, context, [email], 'notification_email')
    await updateTenantRow(transaction, 'agents', context, id, { ...set, ...nextVersion })
    const object = { id, label: row.name }
    await recordAudit(transaction, context, { action: 'agent.updated', object, before: row, after: { ...row, ...set } })
    if (role !== row.role) await limitGrants(transaction, context, { id, role })
    return toAgent({ ...row, ...set, version: row.version + 1 })
  })
}

/** Also revokes the agent's keys and open invitations. The user's account stays. Throws 409 for the last owner, 403 if only owners may do it. */
export async function deleteAgent(db: Database, context: RequestContext, id: string, match?: Match): Promise<void> {
  const { organizationId } = context
  await inTransaction(db, async (transaction) => {
    await lockOrganization(transaction, organizationId)
    const row = await getTenantRow(transaction, 'agents', context, id)
    refuseToGrant(await findGrantingRole(transaction, context, context.actor.id), row.role)
    refuseStale(row, match)
    await refuseLastOwner(transaction, row)
    await removeLockedAgent(transaction, context, id)
  })
}

/** For an account that is deleted, with the organization locked. Returns false, and changes nothing, for the last owner. */
export async function removeLockedAgent(db: Database, context: RequestContext, id: string): Promise<boolean> {
  const row = await getTenantRow(db, 'agents', context, id)
  if (await isLastOwner(db, row)) return false
  await limitGrants(db, context, { id, role: null })
  await deleteTenantRow(db, 'agents', context, id)
  await recordAudit(db, context, { action: 'agent.removed', object: { id, label: row.name }, before: row })
  return true
}

/** For single sign-on, with the organization locked. */
export async function addAgent(
  db: Database,
  context: RequestContext,
  { user, role }: { user: User; role: AgentRole },
): Promise<void> {
  const id = await insertAgent(db, context.organizationId, { user, role }, context.now)
  if (id === undefined) return
  const after = { email: user.email, role }
  await recordAudit(db, context, { action: 'agent.added', object: { id, label: user.name }, after })
}

/** For single sign-on, with the organization locked, and not for owners. A lower role also lowers what the agent granted. */
export async function changeLockedRole(
  db: Database,
  context: RequestContext,
  id: string,
  role: Exclude<AgentRole, 'owner'>,
): Promise<void> {
  const row = await getTenantRow(db, 'agents', context, id)
  await updateTenantRow(db, 'agents', context, id, { role, ...nextVersion })
  const object = { id, label: row.name }
  await recordAudit(db, context, { action: 'agent.updated', object, before: row, after: { ...row, role } })
  await limitGrants(db, context, { id, role })
}

/** Invitations first, because they are found by the keys that created them. */
async function limitGrants(
  db: Database,
  context: RequestContext,
  agent: { id: string; role: AgentRole | null },
): Promise<void> {
  await revokeInvitationsOfAgent(db, context, agent)
  await limitKeysOfAgent(db, context, agent)
}

/** Requires the organization's lock: two owners who leave at the same time would each see the other. */
async function refuseLastOwner(db: Database, row: AgentRow): Promise<void> {
  if (!(await isLastOwner(db, row))) return
  throw conflict('This is the last owner. Give another agent the role owner first.', undefined, 'last_owner')
}

async function isLastOwner(db: Database, { id, organization_id, role }: AgentRow): Promise<boolean> {
  if (role !== 'owner') return false
  const other = await db
    .selectFrom('agents')
    .select('id')
    .where('organization_id', '=', organization_id)
    .where('role', '=', 'owner')
    .where('id', '!=', id)
    .limit(1)
    .executeTakeFirst()
  return other === undefined
}

function toAgent(row: AgentRow): Agent {
  const agent: Agent = {
    id: row.id,
    name: row.name,
    email: row.email,
    role: row.role,
    is_owner: row.role === 'owner',
    notification_email: row.notification_email,
    created: toIso(row.created_at),
    last_seen: toIsoOrNull(row.last_seen_at),
  }
  return withVersion(agent, row.version)
}
