import type { Selectable } from 'kysely'
import type { Agent, AgentChange, AgentRole } from '#contract/agents.ts'
import { type Database, inTransaction } from '../database/database.ts'
import type { AgentsTable } from '../database/schema-people.ts'
import { listPage, type Page, type PageQuery } from '../http/pages.ts'
import { isoOf, isoOrNull } from '../http/times.ts'
import { lockOrganization } from '../organization/lock.ts'
import { conflict, forbidden, notFound } from '../problem.ts'
import type { Seal } from '../seal.ts'

type AgentRow = Selectable<AgentsTable>

const ORDERS = { created: { column: 'agents.id' }, name: { column: 'agents.name' }, email: { column: 'agents.email' } }

export async function listAgents(
  db: Database,
  seal: Seal,
  organizationId: string,
  query: PageQuery,
): Promise<Page<Agent>> {
  const base = db.selectFrom('agents').selectAll('agents').where('agents.organization_id', '=', organizationId)
  const scope = ['agents', organizationId]
  const page = await listPage<AgentRow>(base as never, { seal, query, id: 'agents.id', orders: ORDERS, scope })
  return { ...page, data: page.data.map(toAgent) }
}

/** Throws `not_found` when the agent does not exist or is another organization's. */
export async function getAgent(db: Database, organizationId: string, id: string): Promise<Agent> {
  return toAgent(await getAgentRow(db, organizationId, id))
}

/** Who changes agents: the organization, and what the caller may do in it. */
type By = { organizationId: string; role: AgentRole }

/** Throws 409 when that would leave the organization without an owner, 403 when only an owner may do it. */
export async function updateAgent(
  db: Database,
  { organizationId, role: by }: By,
  id: string,
  change: AgentChange,
): Promise<Agent> {
  return await inTransaction(db, async (transaction) => {
    await lockOrganization(transaction, organizationId)
    const row = await getAgentRow(transaction, organizationId, id)
    const role = change.role ?? row.role
    if (row.role === 'owner' || role === 'owner') refuseLesser(by)
    if (role !== 'owner') await refuseLastOwner(transaction, row)
    const set = {
      name: change.name ?? row.name,
      role,
      notification_email: change.notification_email === undefined ? row.notification_email : change.notification_email,
    }
    await transaction
      .updateTable('agents')
      .set(set)
      .where('organization_id', '=', organizationId)
      .where('id', '=', id)
      .execute()
    return toAgent({ ...row, ...set })
  })
}

/** Ends the membership; the person stays known. Throws 409 for the last owner, 403 when only an owner may do it. */
export async function deleteAgent(db: Database, { organizationId, role: by }: By, id: string): Promise<void> {
  await inTransaction(db, async (transaction) => {
    await lockOrganization(transaction, organizationId)
    const row = await getAgentRow(transaction, organizationId, id)
    if (row.role === 'owner') refuseLesser(by)
    await refuseLastOwner(transaction, row)
    await transaction.deleteFrom('agents').where('organization_id', '=', organizationId).where('id', '=', id).execute()
  })
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

/** Whoever could make owners could make oneself one. Throws 403. */
export function refuseLesser(by: AgentRole): void {
  if (by !== 'owner') throw forbidden('Only owners make, change and remove owners; ask one of them.')
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
  if (!other) throw conflict('This is the last owner; make another agent an owner first.')
}

function toAgent(row: AgentRow): Agent {
  return {
    id: row.id,
    name: row.name,
    email: row.email,
    role: row.role,
    is_owner: row.role === 'owner',
    notification_email: row.notification_email,
    created: isoOf(row.created_at),
    last_seen: isoOrNull(row.last_seen_at),
  }
}
