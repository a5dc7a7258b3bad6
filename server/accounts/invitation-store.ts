import { type Selectable, sql } from 'kysely'
import type { AgentRole, Invitation, InvitationState, NewInvitation } from '#contract/agents.ts'
import { recordAudit } from '../audit-log.ts'
import type { RequestContext, Tenant } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { listPage, type Page, type PageQuery } from '../database/pagination.ts'
import type { InvitationsTable } from '../database/schema-people.ts'
import { lockOrganization } from '../database/tenant-row.ts'
import { refuseToGrant } from '../http/authorization.ts'
import { lowestIdAt, newId } from '../ids.ts'
import { hashOfToken, invitationToken } from '../mail/links.ts'
import { dropWaitingMail, queueMail } from '../mail/outbox.ts'
import { conflict, notFound, Problem } from '../problem.ts'
import type { Seal } from '../seal.ts'
import { toIso } from '../times.ts'
import { findActorRole } from './memberships.ts'
import { normalizeEmail } from './users.ts'

const ORDERS = { created: { column: 'invitations.id' } }

export async function listInvitations(
  db: Database,
  seal: Seal,
  { organizationId }: Tenant,
  query: PageQuery,
  now: number,
): Promise<Page<Invitation>> {
  const base = db
    .selectFrom('invitations')
    .selectAll('invitations')
    .where('invitations.organization_id', '=', organizationId)
  const scope = ['invitations', organizationId]
  const options = { seal, query, id: 'invitations.id', orders: ORDERS, scope }
  const page = await listPage<InvitationRow>(base as never, options)
  return { ...page, data: page.data.map((row) => toInvitation(row, now)) }
}

/** `limit`: invitations in 24 hours; 0: no limit. */
type Limited = { context: RequestContext; limit: number }

/** Throws `not_found`. */
export async function getInvitation(
  db: Database,
  { organizationId }: Tenant,
  id: string,
  now: number,
): Promise<Invitation> {
  return toInvitation(await getInvitationRow(db, organizationId, id), now)
}

/** Writes the invitation and its mail. Throws 403 when the role is not the caller's to give, 409 for a member, and for an address whose invitation is still open. */
export async function insertInvitation(
  db: Database,
  seal: Seal,
  { context, limit }: Limited,
  given: NewInvitation,
): Promise<Invitation> {
  const { organizationId, now } = context
  const actor = context.actor.id
  const email = normalizeEmail(given.email)
  const role = given.role ?? 'member'
  return await inTransaction(db, async (transaction) => {
    await lockOrganization(transaction, organizationId)
    refuseToGrant(await findActorRole(transaction, context, actor), role)
    await refuseMany(transaction, organizationId, limit, now)
    await refuseMember(transaction, organizationId, email)
    await refuseSecond(transaction, organizationId, email, now)
    const id = newId('inv', now)
    const row: InvitationRow = {
      id,
      organization_id: organizationId,
      created_at: now,
      email,
      role,
      issue: 1,
      token_hash: hashOfToken(invitationToken(seal, id, 1)),
      expires_at: now + VALID_FOR_MS,
      invited_by: actor,
      accepted_at: null,
      revoked_at: null,
    }
    await transaction.insertInto('invitations').values(row).execute()
    await sendInvitation(transaction, seal, row, now)
    await recordAudit(transaction, context, { action: 'invitation.created', ...objectOf(row), after: row })
    return toInvitation(row, now)
  })
}

/**
 * Sends it again, with a new token and seven more days; the link before it is void. Throws 409 once accepted or revoked, 403
 * when the role is not the caller's to give.
 */
export async function resendInvitation(
  db: Database,
  seal: Seal,
  { context, limit }: Limited,
  id: string,
): Promise<Invitation> {
  const { organizationId, role: by, now } = context
  return await inTransaction(db, async (transaction) => {
    await lockOrganization(transaction, organizationId)
    const row = await getInvitationRow(transaction, organizationId, id)
    refuseToGrant(by, row.role)
    refuseEnded(row, now)
    await refuseMany(transaction, organizationId, limit, now)
    await refuseSecond(transaction, organizationId, row.email, now, id)
    const issue = row.issue + 1
    const token_hash = hashOfToken(invitationToken(seal, id, issue))
    const set = { issue, token_hash, expires_at: now + VALID_FOR_MS }
    const { numUpdatedRows } = await openInvitation(transaction, organizationId, id).set(set).executeTakeFirst()
    if (numUpdatedRows === 0n) refuseEnded(await getInvitationRow(transaction, organizationId, id), now)
    await dropWaitingMail(transaction, organizationId, id)
    await sendInvitation(transaction, seal, { ...row, ...set }, now)
    await recordAudit(transaction, context, { action: 'invitation.resent', ...objectOf(row), after: row })
    return toInvitation({ ...row, ...set }, now)
  })
}

/**
 * Its link is void at once. Throws 409 once accepted, 403 when the role is not the caller's to give; revoking twice changes
 * nothing.
 */
export async function revokeInvitation(db: Database, context: RequestContext, id: string): Promise<void> {
  const { organizationId, role: by, now } = context
  await inTransaction(db, async (transaction) => {
    refuseToGrant(by, (await getInvitationRow(transaction, organizationId, id)).role)
    const query = openInvitation(transaction, organizationId, id).set({ revoked_at: now })
    const { numUpdatedRows } = await query.executeTakeFirst()
    const row = await getInvitationRow(transaction, organizationId, id)
    if (row.accepted_at !== null) throw conflict('This invitation was accepted. Remove the agent instead.')
    await dropWaitingMail(transaction, organizationId, id)
    if (numUpdatedRows === 0n) return
    await recordAudit(transaction, context, { action: 'invitation.revoked', ...objectOf(row), before: row })
  })
}

const objectOf = ({ id, email }: InvitationRow) => ({ object: { id, label: email } })

/**
 * Revokes what an agent or the agent's keys offered and may offer no more. `role`: what the agent may do from now on; null:
 * nothing.
 */
export async function revokeInvitationsOf(
  db: Database,
  context: RequestContext,
  { id, role }: { id: string; role: AgentRole | null },
): Promise<void> {
  const { organizationId, now } = context
  if (role === 'owner') return
  const keys = db
    .selectFrom('api_keys')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('created_by', '=', id)
  const query = db
    .updateTable('invitations')
    .set({ revoked_at: now })
    .where('organization_id', '=', organizationId)
    .where(({ eb, or }) => or([eb('invited_by', '=', id), eb('invited_by', 'in', keys)]))
    .where('accepted_at', 'is', null)
    .where('revoked_at', 'is', null)
    .returning(['id', 'email'])
  const revoked = await (role === 'admin' ? query.where('role', '=', 'owner') : query).execute()
  for (const invitation of revoked) await dropWaitingMail(db, organizationId, invitation.id)
  const [first, second] = revoked
  if (!first) return
  const object = second ? {} : { id: first.id, label: first.email }
  const ids = second ? revoked.map((invitation) => invitation.id) : []
  await recordAudit(db, context, { action: 'invitation.revoked', object, ids })
}

async function getInvitationRow(db: Database, organizationId: string, id: string): Promise<InvitationRow> {
  const row = await db
    .selectFrom('invitations')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst()
  if (!row) throw notFound()
  return row
}

const DAY_MS = 24 * 60 * 60_000

/**
 * Throws 429 where `limit` invitations were sent in the last 24 hours by the organization and the others that its owners own:
 * anyone who may make organizations could else send as many from each. Revoked ones count, so that revoking frees none for a day.
 * Under the organization's lock.
 */
async function refuseMany(db: Database, organizationId: string, limit: number, now: number): Promise<void> {
  if (limit === 0) return
  const isNew = sql`id >= ${lowestIdAt('inv', now - DAY_MS)}`
  const { rows } = await sql<{ sent: number }>`
    select cast(coalesce(sum(case when ${isNew} then issue else issue - 1 end), 0) as bigint) as sent from invitations
    where expires_at > ${now + VALID_FOR_MS - DAY_MS} and organization_id in (
      select owned.organization_id from agents owners join agents owned on owned.person_id = owners.person_id
      where owners.organization_id = ${organizationId} and owners.role = 'owner' and owned.role = 'owner')`.execute(db)
  if (rows[0]!.sent < limit) return
  throw new Problem(
    429,
    `Your organization, with others of the same owners, sent ${limit} invitations in the last 24 hours, which is the limit. Try again tomorrow.`,
  )
}

/** An update that changes it only while it can still be accepted, also if somebody else changes it at this moment. */
function openInvitation(db: Database, organizationId: string, id: string) {
  return db
    .updateTable('invitations')
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .where('accepted_at', 'is', null)
    .where('revoked_at', 'is', null)
}

async function sendInvitation(db: Database, seal: Seal, row: InvitationRow, now: number): Promise<void> {
  const { name: organization } = await db
    .selectFrom('organizations')
    .select('name')
    .where('id', '=', row.organization_id)
    .executeTakeFirstOrThrow()
  const { role, issue, expires_at: expiresAt } = row
  const content = { kind: 'invitation', organization, role, issue, expiresAt, keyId: seal.keyId } as const
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

async function refuseSecond(db: Database, organizationId: string, email: string, now: number, except?: string) {
  const open = await db
    .selectFrom('invitations')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('email', '=', email)
    .where('accepted_at', 'is', null)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now)
    .where('id', '!=', except ?? '')
    .executeTakeFirst()
  if (open) throw conflict(`${email} already has an open invitation. Resend or revoke ${open.id}.`)
}

function refuseEnded(row: InvitationRow, now: number): void {
  const state = stateOf(row, now)
  if (state === 'accepted' || state === 'revoked') throw conflict(`This invitation is ${state}. Create a new one.`)
}

type InvitationRow = Selectable<InvitationsTable>

export const VALID_FOR_MS = 7 * 24 * 60 * 60_000

export function stateOf(row: InvitationRow, now: number): InvitationState {
  if (row.accepted_at !== null) return 'accepted'
  if (row.revoked_at !== null) return 'revoked'
  return row.expires_at <= now ? 'expired' : 'pending'
}

function toInvitation(row: InvitationRow, now: number): Invitation {
  return {
    id: row.id,
    email: row.email,
    role: row.role,
    state: stateOf(row, now),
    created: toIso(row.created_at),
    expires: toIso(row.expires_at),
    invited_by: row.invited_by,
  }
}
