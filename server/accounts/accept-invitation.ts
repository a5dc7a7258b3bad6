import type { AgentRole, InvitationState } from '#contract/agents.ts'
import { recordAudit } from '../audit-log.ts'
import type { Origin, RequestContext } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { hashOfToken } from '../mail/links.ts'
import { conflict, forbidden, notFound } from '../problem.ts'
import { stateOf } from './invitation-store.ts'
import { insertAgent, normalizeEmail, type User } from './users.ts'

type Offered = { organization: string; email: string; role: AgentRole; state: InvitationState }

/** What the link in a mail offers, for the page that it opens. Throws `not_found` for a token that is invalid or was replaced. */
export async function getOfferedInvitation(db: Database, token: string, now: number): Promise<Offered> {
  const row = await db
    .selectFrom('invitations')
    .innerJoin('organizations', 'organizations.id', 'invitations.organization_id')
    .selectAll('invitations')
    .select('organizations.name as organization')
    .where('token_hash', '=', hashOfToken(token))
    .executeTakeFirst()
  if (!row) throw notFound()
  return { organization: row.organization, email: row.email, role: row.role, state: stateOf(row, now) }
}

/** The same, of one that can be accepted. Throws 409 when it is used, revoked or expired. */
export async function getOpenInvitation(db: Database, token: string, now: number): Promise<Offered> {
  const offered = await getOfferedInvitation(db, token, now)
  if (offered.state !== 'pending') throw ended(offered.state)
  return offered
}

/**
 * Makes a signed-in person an agent, once for each invitation. Throws `not_found` for an unknown token, 403 when the person
 * signed in with another address than the invited one, 409 when it is used, revoked or expired.
 */
export async function acceptInvitation(
  db: Database,
  { token, person }: { token: string; person: User },
  origin: Origin,
): Promise<{ organizationId: string; agentId: string }> {
  const { now } = origin
  return await inTransaction(db, async (transaction) => {
    const { email } = await getOpenInvitation(transaction, token, now)
    if (email !== normalizeEmail(person.email))
      throw forbidden(`This invitation is for ${email}. Sign in with that address.`)
    // The update decides: of two that read "pending" at the same time only one changes the row.
    const taken = await transaction
      .updateTable('invitations')
      .set({ accepted_at: now })
      .where('token_hash', '=', hashOfToken(token))
      .where('accepted_at', 'is', null)
      .where('revoked_at', 'is', null)
      .where('expires_at', '>', now)
      .returning(['organization_id', 'id', 'role'])
      .executeTakeFirst()
    if (!taken) throw ended((await getOfferedInvitation(transaction, token, now)).state)
    const organizationId = taken.organization_id
    const agentId = await insertAgent(transaction, organizationId, { person, role: taken.role }, now)
    if (agentId === undefined) throw conflict('You already belong to this organization.')
    const actor = { type: 'person', id: agentId, label: person.name } as const
    const context: RequestContext = { ...origin, organizationId, role: taken.role, actor }
    const after = { email, role: taken.role }
    await recordAudit(transaction, context, {
      action: 'invitation.accepted',
      object: { id: taken.id, label: email },
      after,
    })
    return { organizationId, agentId }
  })
}

const ended = (state: InvitationState) =>
  conflict(
    state === 'accepted' ? 'This invitation was already used.' : `This invitation is ${state}. Ask for a new one.`,
  )
