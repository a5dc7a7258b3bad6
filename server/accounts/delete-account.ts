import type { Actor, Origin, RequestContext } from '../context.ts'
import type { Database } from '../database/database.ts'
import { lockOrganization } from '../database/tenant-row.ts'
import { conflict } from '../problem.ts'
import { removeLockedAgent } from './agents.ts'
import { isOwnMail } from './own-mails.ts'
import type { Account } from './users.ts'

/**
 * Deletes a user's account with its memberships, sessions, second factor, links and mails. `account`: locked. `actor`: by default the user.
 * Throws 409, and names the organizations, for the last owner of one. Returns how many organizations the user has left.
 */
export async function deleteAccount(
  transaction: Database,
  account: Account,
  origin: Origin,
  actor?: Actor,
): Promise<number> {
  const memberships = await transaction
    .selectFrom('agents')
    .innerJoin('organizations', 'organizations.id', 'agents.organization_id')
    .select(['agents.id', 'agents.organization_id', 'agents.name', 'organizations.name as organization'])
    .where('agents.person_id', '=', account.id)
    .orderBy('agents.organization_id')
    .execute()
  // While the memberships say which are the user's.
  await transaction.deleteFrom('mails').where('recipient', '=', account.email).where(isOwnMail(account.id)).execute()
  const lastOwnerOf: string[] = []
  for (const { id, organization_id: organizationId, name, organization } of memberships) {
    const context: RequestContext = {
      ...origin,
      organizationId,
      role: 'owner',
      actor: actor ?? { type: 'person', id, label: name },
    }
    await lockOrganization(transaction, organizationId)
    if (!(await removeLockedAgent(transaction, context, id))) lastOwnerOf.push(organization)
    await transaction
      .deleteFrom('invitations')
      .where('organization_id', '=', organizationId)
      .where('email', '=', account.email)
      .execute()
  }
  if (lastOwnerOf.length > 0) {
    throw conflict(
      `${account.email} is the last owner of ${lastOwnerOf.join(', ')}. Give another member the role owner there, or delete the organization first.`,
      undefined,
      'last_owner',
    )
  }
  await transaction.deleteFrom('people').where('id', '=', account.id).execute()
  return memberships.length
}
