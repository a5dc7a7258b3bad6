import { type Selectable, sql } from 'kysely'
import type { AgentRole, Invitation, InvitationState, NewInvitation } from '#contract/agents.ts'
import { recordAudit } from '../audit-log.ts'
import type { Origin, RequestContext, Tenant } from '../context.ts'
import { isOneOf } from '../database/bulk.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { listPage, type Page, type PageQuery } from '../database/pagination.ts'
import type { InvitationsTable } from '../database/schema-people.ts'
import { getTenantRow, lockOrganization, organizationName } from '../database/tenant-row.ts'
import { refuseToGrant } from '../http/authorization.ts'
import { lowestIdAt, newId } from '../ids.ts'
import type { Keyring } from '../keyring.ts'
import { hashOfToken, invitationToken } from '../mail/links.ts'
import { cancelMails, queueMail } from '../mail/outbox.ts'
import { conflict, forbidden, notFound, Problem } from '../problem.ts'
import { DAY_MS, toIso } from '../times.ts'
import { findGrantingRole, insertAgent, refuseLastingGrant } from './memberships.ts'
import { normalizeEmail, type User } from './users.ts'

type InvitationRow = Selectable<InvitationsTable>

const LIFETIME_MS = 7 * DAY_MS

export async function listInvitations(
  db: Database,
  keyring: Keyring,
  { organizationId }: Tenant,
  query: PageQuery,
  now: number,
): Promise<Page<Invitation>> {
  const rows = db
    .selectFrom('invitations')
    .selectAll('invitations')
    .where('invitations.organization_id', '=', organizationId)
  const page = await listPage<InvitationRow>(rows, {
    keyring,
    query,
    id: 'invitations.id',
    orders: { created: { column: 'invitations.id' } },
    scope: ['invitations', organizationId],
  })
  return { ...page, data: page.data.map((row) => toInvitation(row, now)) }
}

/** Throws `not_found`. */
export async function getInvitation(db: Database, tenant: Tenant, id: string, now: number): Promise<Invitation> {
  return toInvitation(await getTenantRow(db, 'invitations', tenant, id), now)
}

/** `limit`: invitations in 24 hours; 0: no limit. */
type Inviter = { context: RequestContext; limit: number }

/** Also queues the mail. Throws 403 if the caller may not grant the role, 409 for a member and for an address with an open invitation. */
export async function insertInvitation(
  db: Database,
  keyring: Keyring,
  { context, limit }: Inviter,
  input: NewInvitation,
): Promise<Invitation> {
  const { organizationId, now } = context
  const actor = context.actor.id
  const email = normalizeEmail(input.email)
  const role = input.role ?? 'member'
  return await inTransaction(db, async (transaction) => {
    await lockOrganization(transaction, organizationId)
    refuseToGrant(await findGrantingRole(transaction, context, actor), role)
    await refuseLastingGrant(transaction, context, actor)
    await refuseTooManyInvitations(transaction, organizationId, limit, now)
    await refuseMember(transaction, organizationId, email)
    await refuseSecondInvitation(transaction, organizationId, email, now)
    const id = newId('inv', now)
    const row: InvitationRow = {
      id,
      organization_id: organizationId,
      created_at: now,
      email,
      role,
      issue: 1,
      token_hash: hashOfToken(invitationToken(keyring, id, 1)),
      expires_at: now + LIFETIME_MS,
      invited_by: actor,
      accepted_at: null,
      revoked_at: null,
    }
    await transaction.insertInto('invitations').values(row).execute()
    await sendInvitation(transaction, keyring, row, now)
    await recordAudit(transaction, context, { action: 'invitation.created', ...auditedObject(row), after: row })
    return toInvitation(row, now)
  })
}

/**
 * Sends a new link that expires in seven days. The previous link stops working. Throws 409 for an accepted or revoked invitation,
 * 403 if the caller may not grant the role.
 */
export async function resendInvitation(
  db: Database,
  keyring: Keyring,
  { context, limit }: Inviter,
  id: string,
): Promise<Invitation> {
  const { organizationId, now } = context
  return await inTransaction(db, async (transaction) => {
    await lockOrganization(transaction, organizationId)
    const row = await getTenantRow(transaction, 'invitations', context, id)
    refuseToGrant(await findGrantingRole(transaction, context, context.actor.id), row.role)
    await refuseLastingGrant(transaction, context, context.actor.id)
    refuseEnded(row, now)
    await refuseTooManyInvitations(transaction, organizationId, limit, now)
    await refuseSecondInvitation(transaction, organizationId, row.email, now, id)
    const issue = row.issue + 1
    const token_hash = hashOfToken(invitationToken(keyring, id, issue))
    const change = { issue, token_hash, expires_at: now + LIFETIME_MS }
    const { numUpdatedRows } = await updateOpenInvitation(transaction, organizationId, id)
      .set(change)
      .executeTakeFirst()
    if (numUpdatedRows === 0n) refuseEnded(await getTenantRow(transaction, 'invitations', context, id), now)
    await cancelMails(transaction, organizationId, id)
    await sendInvitation(transaction, keyring, { ...row, ...change }, now)
    await recordAudit(transaction, context, { action: 'invitation.resent', ...auditedObject(row), after: row })
    return toInvitation({ ...row, ...change }, now)
  })
}

/**
 * The link stops working at once. Revoking twice changes nothing. Throws 409 for an accepted invitation, 403 if the caller may
 * not grant the role.
 */
export async function revokeInvitation(db: Database, context: RequestContext, id: string): Promise<void> {
  const { organizationId, now } = context
  await inTransaction(db, async (transaction) => {
    const { role } = await getTenantRow(transaction, 'invitations', context, id)
    refuseToGrant(await findGrantingRole(transaction, context, context.actor.id), role)
    const query = updateOpenInvitation(transaction, organizationId, id).set({ revoked_at: now })
    const { numUpdatedRows } = await query.executeTakeFirst()
    const row = await getTenantRow(transaction, 'invitations', context, id)
    if (row.accepted_at !== null) throw conflict('This invitation was accepted. Remove the agent instead.')
    await cancelMails(transaction, organizationId, id)
    if (numUpdatedRows === 0n) return
    await recordAudit(transaction, context, { action: 'invitation.revoked', ...auditedObject(row), before: row })
  })
}

const auditedObject = ({ id, email }: InvitationRow) => ({ object: { id, label: email } })

/** Revokes the invitations of an agent and of the agent's keys that `role` no longer permits. Null: all of them. */
export async function revokeInvitationsOfAgent(
  db: Database,
  context: RequestContext,
  { id, role }: { id: string; role: AgentRole | null },
): Promise<void> {
  if (role === 'owner') return
  const keys = await db
    .selectFrom('api_keys')
    .select('id')
    .where('organization_id', '=', context.organizationId)
    .where('created_by', '=', id)
    .execute()
  const roles: AgentRole[] = role === 'admin' ? ['owner'] : ['owner', 'admin', 'member', 'viewer']
  await revokeInvitationsBy(db, context, [id, ...keys.map((key) => key.id)], roles)
}

/** Whoever leaked the key may have invited the holder of another address. */
export async function revokeInvitationsOfKey(db: Database, context: RequestContext, id: string): Promise<void> {
  await revokeInvitationsBy(db, context, [id], ['owner', 'admin', 'member', 'viewer'])
}

async function revokeInvitationsBy(
  db: Database,
  context: RequestContext,
  actors: readonly string[],
  roles: readonly AgentRole[],
): Promise<void> {
  const { organizationId, now } = context
  const revoked = await db
    .updateTable('invitations')
    .set({ revoked_at: now })
    .where('organization_id', '=', organizationId)
    .where(isOneOf(db, 'invited_by', actors))
    .where('role', 'in', roles)
    .where('accepted_at', 'is', null)
    .where('revoked_at', 'is', null)
    .returning(['id', 'email'])
    .execute()
  for (const invitation of revoked) await cancelMails(db, organizationId, invitation.id)
  const [first, second] = revoked
  if (!first) return
  const object = second ? {} : { id: first.id, label: first.email }
  const ids = second ? revoked.map((invitation) => invitation.id) : []
  await recordAudit(db, context, { action: 'invitation.revoked', object, ids })
}

type OfferedInvitation = { organization: string; email: string; role: AgentRole; state: InvitationState }

/** For the page that the link in a mail opens. Throws `not_found` for an invalid or replaced token. */
export async function getOfferedInvitation(db: Database, token: string, now: number): Promise<OfferedInvitation> {
  const row = await db
    .selectFrom('invitations')
    .innerJoin('organizations', 'organizations.id', 'invitations.organization_id')
    .selectAll('invitations')
    .select('organizations.name as organization')
    .where('token_hash', '=', hashOfToken(token))
    .executeTakeFirst()
  if (!row) throw notFound()
  return { organization: row.organization, email: row.email, role: row.role, state: invitationState(row, now) }
}

/** An invitation that can be accepted. Throws `not_found`, and 409 for an accepted, revoked or expired one. */
export async function getPendingInvitation(db: Database, token: string, now: number): Promise<OfferedInvitation> {
  const invitation = await getOfferedInvitation(db, token, now)
  if (invitation.state !== 'pending') throw notPending(invitation.state)
  return invitation
}

/**
 * Makes a signed-in user an agent. Throws `not_found` for an unknown token, 403 if the user has another address than the
 * invited one, 409 for an accepted, revoked or expired invitation.
 */
export async function acceptInvitation(
  db: Database,
  { token, user }: { token: string; user: User },
  origin: Origin,
): Promise<{ organizationId: string; agentId: string }> {
  const { now } = origin
  return await inTransaction(db, async (transaction) => {
    const { email } = await getPendingInvitation(transaction, token, now)
    if (email !== normalizeEmail(user.email)) {
      throw forbidden(`This invitation is for ${email}. Sign in with that address.`)
    }
    // Two requests may both have read `pending`. Only one of them updates the row.
    const accepted = await transaction
      .updateTable('invitations')
      .set({ accepted_at: now })
      .where('token_hash', '=', hashOfToken(token))
      .where('accepted_at', 'is', null)
      .where('revoked_at', 'is', null)
      .where('expires_at', '>', now)
      .returning(['organization_id', 'id', 'role'])
      .executeTakeFirst()
    if (!accepted) throw notPending((await getOfferedInvitation(transaction, token, now)).state)
    const { organization_id: organizationId, id, role } = accepted
    const agentId = await insertAgent(transaction, organizationId, { user, role }, now)
    if (agentId === undefined) throw conflict('You already belong to this organization.')
    const actor = { type: 'person', id: agentId, label: user.name } as const
    const context: RequestContext = { ...origin, organizationId, role, actor }
    const object = { id, label: email }
    await recordAudit(transaction, context, { action: 'invitation.accepted', object, after: { email, role } })
    return { organizationId, agentId }
  })
}

const notPending = (state: InvitationState) =>
  conflict(
    state === 'accepted' ? 'This invitation was already used.' : `This invitation is ${state}. Ask for a new one.`,
  )

/**
 * Throws 429 if the organization, with the other organizations of its owners, sent `limit` invitations in the last 24 hours.
 * Counting them together keeps an owner of many organizations from sending more. Revoked invitations count too. Requires the organization's lock.
 */
async function refuseTooManyInvitations(
  db: Database,
  organizationId: string,
  limit: number,
  now: number,
): Promise<void> {
  if (limit === 0) return
  const isNew = sql`id >= ${lowestIdAt('inv', now - DAY_MS)}`
  const { rows } = await sql<{ sent: number }>`
    select cast(coalesce(sum(case when ${isNew} then issue else issue - 1 end), 0) as bigint) as sent from invitations
    where expires_at > ${now + LIFETIME_MS - DAY_MS} and organization_id in (
      select owned.organization_id from agents owners join agents owned on owned.person_id = owners.person_id
      where owners.organization_id = ${organizationId} and owners.role = 'owner' and owned.role = 'owner')`.execute(db)
  if (rows[0]!.sent < limit) return
  throw new Problem(
    429,
    `Your organization, with others of the same owners, sent ${limit} invitations in the last 24 hours, which is the limit. Try again tomorrow.`,
  )
}

/** Updates nothing if another request has accepted or revoked the invitation meanwhile. */
function updateOpenInvitation(db: Database, organizationId: string, id: string) {
  return db
    .updateTable('invitations')
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .where('accepted_at', 'is', null)
    .where('revoked_at', 'is', null)
}

async function sendInvitation(db: Database, keyring: Keyring, row: InvitationRow, now: number): Promise<void> {
  const organization = await organizationName(db, row.organization_id)
  const { role, issue, expires_at: expiresAt } = row
  const content = { kind: 'invitation', organization, role, issue, expiresAt, keyId: keyring.keyId } as const
  await queueMail(db, row.organization_id, { about: row.id, recipients: [row.email], content }, now)
}

async function refuseMember(db: Database, organizationId: string, email: string): Promise<void> {
  const member = await db
    .selectFrom('agents')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('email', '=', email)
    .executeTakeFirst()
  if (member) throw conflict(`${email} is already a member of the organization (${member.id}).`)
}

async function refuseSecondInvitation(
  db: Database,
  organizationId: string,
  email: string,
  now: number,
  exceptId = '',
): Promise<void> {
  const open = await db
    .selectFrom('invitations')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('email', '=', email)
    .where('accepted_at', 'is', null)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now)
    .where('id', '!=', exceptId)
    .executeTakeFirst()
  if (open) throw conflict(`${email} already has an open invitation. Resend or revoke ${open.id}.`)
}

function refuseEnded(row: InvitationRow, now: number): void {
  const state = invitationState(row, now)
  if (state === 'accepted' || state === 'revoked') throw conflict(`This invitation is ${state}. Create a new one.`)
}

function invitationState(row: InvitationRow, now: number): InvitationState {
  if (row.accepted_at !== null) return 'accepted'
  if (row.revoked_at !== null) return 'revoked'
  return row.expires_at <= now ? 'expired' : 'pending'
}

function toInvitation(row: InvitationRow, now: number): Invitation {
  return {
    id: row.id,
    email: row.email,
    role: row.role,
    state: invitationState(row, now),
    created: toIso(row.created_at),
    expires: toIso(row.expires_at),
    invited_by: row.invited_by,
  }
}
