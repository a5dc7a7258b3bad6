import type { Selectable } from 'kysely'
import type { Agent, AgentChange, AgentRole } from '#contract/agents.ts'
import { recordAudit } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { listPage, type Page, type PageQuery } from '../database/pagination.ts'
import type { AgentsTable } from '../database/schema-people.ts'
import { lockOrganization } from '../database/tenant-row.ts'
import { type Match, nextVersion, refuseStale, withVersion } from '../database/versions.ts'
import { refuseToGrant } from '../http/authorization.ts'
import { conflict, notFound } from '../problem.ts'
import type { Seal } from '../seal.ts'
import { toIso, toIsoOrNull } from '../times.ts'
import { limitKeysOf } from './api-keys.ts'
import { revokeInvitationsOf } from './invitation-store.ts'

type AgentRow = Selectable<AgentsTable>

const ORDERS = { created: { column: 'agents.id' }, name: { column: 'agents.name' }, email: { column: 'agents.email' } }

export async function listAgents(
  db: Database,
  seal: Seal,
  { organizationId }: Tenant,
  query: PageQuery,
): Promise<Page<Agent>> {
  const base = db.selectFrom('agents').selectAll('agents').where('agents.organization_id', '=', organizationId)
  const scope = ['agents', organizationId]
  const page = await listPage<AgentRow>(base as never, { seal, query, id: 'agents.id', orders: ORDERS, scope })
  return { ...page, data: page.data.map(toAgent) }
}

/** Throws `not_found` when the agent does not exist or is another organization's. */
export async function getAgent(db: Database, { organizationId }: Tenant, id: string): Promise<Agent> {
  return toAgent(await getAgentRow(db, organizationId, id))
}

/**
 * With a lesser role the agent's keys may do less too, and what the agent may no longer offer is revoked. Throws 409 when
 * that would leave the organization without an owner, 403 when only an owner may do it.
 */
export async function updateAgent(
  db: Database,
  context: RequestContext,
  id: string,
  change: AgentChange,
  match?: Match,
): Promise<Agent> {
  const { organizationId, role: by } = context
  return await inTransaction(db, async (transaction) => {
    await lockOrganization(transaction, organizationId)
    const row = await getAgentRow(transaction, organizationId, id)
    refuseStale(row, match)
    const role = change.role ?? row.role
    refuseToGrant(by, row.role, role)
    if (role !== 'owner') await refuseLastOwner(transaction, row)
    const set = {
      name: change.name ?? row.name,
      role,
      notification_email: change.notification_email === undefined ? row.notification_email : change.notification_email,
    }
    await transaction
      .updateTable('agents')
      .set({ ...set, ...nextVersion })
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .execute()
    const object = { id, label: row.name }
    await recordAudit(transaction, context, { action: 'agent.updated', object, before: row, after: { ...row, ...set } })
    if (role !== row.role) await limitTo(transaction, context, { id, role })
    return toAgent({ ...row, ...set, version: row.version + 1 })
  })
}

/** Ends the membership with the agent's keys and open invitations; the person stays known. Throws 409 for the last owner, 403 when only an owner may do it. */
export async function deleteAgent(db: Database, context: RequestContext, id: string, match?: Match): Promise<void> {
  const { organizationId, role: by } = context
  await inTransaction(db, async (transaction) => {
    await lockOrganization(transaction, organizationId)
    const row = await getAgentRow(transaction, organizationId, id)
    refuseToGrant(by, row.role)
    refuseStale(row, match)
    await refuseLastOwner(transaction, row)
    await limitTo(transaction, context, { id, role: null })
    await transaction.deleteFrom('agents').where('organization_id', '=', organizationId).where('id', '=', id).execute()
    await recordAudit(transaction, context, { action: 'agent.removed', object: { id, label: row.name }, before: row })
  })
}

/** Invitations first: they are found by the keys that made them. */
async function limitTo(
  db: Database,
  context: RequestContext,
  agent: { id: string; role: AgentRole | null },
): Promise<void> {
  await revokeInvitationsOf(db, context, agent)
  await limitKeysOf(db, context, agent)
}

async function getAgentRow(db: Database, organizationId: string, id: string): Promise<AgentRow> {
  const row = await db
    .selectFrom('agents')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst()
  if (!row) throw notFound()
  return row
}

/** Only true under the organization's lock: two owners who leave at the same time would each see the other. */
async function refuseLastOwner(db: Database, { id, organization_id, role }: AgentRow): Promise<void> {
  if (role !== 'owner') return
  const other = await db
    .selectFrom('agents')
    .select('id')
    .where('organization_id', '=', organization_id)
    .where('role', '=', 'owner')
    .where('id', '!=', id)
    .limit(1)
    .executeTakeFirst()
  if (!other)
    throw conflict('This is the last owner. Give another agent the role owner first.', undefined, 'last_owner')
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
