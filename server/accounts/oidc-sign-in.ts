import type { AgentRole } from '#contract/agents.ts'
import type { OidcProvider } from '../config/oidc.ts'
import { type RequestContext, systemContext } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { lockOrganization } from '../database/tenant-row.ts'
import type { Deps } from '../deps.ts'
import { isHigher } from '../http/authorization.ts'
import { withinQuota } from '../organization/quota.ts'
import { deleteTokens, LINK_PURPOSES, SIGN_IN_PURPOSES } from './account-tokens.ts'
import { addAgent, changeLockedRole, removeLockedAgent } from './agents.ts'
import { findMembership } from './memberships.ts'
import type { Identity } from './oidc-provider.ts'
import { type BrowserOrigin, deleteSessions } from './sessions.ts'
import { type SignInTokens, startOrAskForCode } from './sign-in.ts'
import { type Account, findAccount, insertUserIfNew, lockAccount, normalizeEmail } from './users.ts'

/** Why somebody whom the provider knows cannot sign in. The page has a sentence for each. */
export type OidcRefusal = 'no_email' | 'unconfirmed_email' | 'foreign_email' | 'no_access'

export type OidcResult = { tokens: SignInTokens } | { refusal: OidcRefusal }

type OidcDeps = Pick<Deps, 'db' | 'config' | 'clock'>

/**
 * Signs in whom the provider vouches for. Whoever is new gets an account if a grant or an invitation gives access; an account with the
 * same address is linked if the provider may vouch for addresses of its domain. In the organizations of its grants, the provider decides
 * who is a member with which role, except for owners. Throws 402 if a plan has no place for the new member.
 */
export async function signInWithIdentity(
  deps: OidcDeps,
  provider: OidcProvider,
  identity: Identity,
  trustedToken: string,
  origin: BrowserOrigin,
): Promise<OidcResult> {
  return await inTransaction(deps.db, async (transaction) => {
    const found = (await findLinked(transaction, identity)) ?? (await link(transaction, provider, identity, origin.now))
    if (typeof found === 'string') return { refusal: found }
    await touchIdentity(transaction, identity, origin.now)
    const roles = grantedRoles(provider, identity)
    for (const [organizationId, role] of [...roles].sort(([a], [b]) => (a < b ? -1 : 1)))
      await applyGrant({ ...deps, db: transaction }, { provider, account: found, organizationId, role }, origin)
    const hasAccess =
      (await findMembership(transaction, found.id)) || (await isInvited(transaction, found.email, origin.now))
    // What was taken away stays so.
    if (!hasAccess) return { refusal: 'no_access' }
    const kind = { isPersistent: false, provider: provider.id }
    return { tokens: await startOrAskForCode(transaction, found, kind, trustedToken, origin) }
  })
}

/** The account of an earlier sign-in, locked. */
async function findLinked(transaction: Database, { issuer, subject }: Identity): Promise<Account | undefined> {
  const row = await transaction
    .selectFrom('identities')
    .select('person_id')
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .executeTakeFirst()
  return row && (await lockAccount(transaction, row.person_id))
}

async function link(
  transaction: Database,
  provider: OidcProvider,
  identity: Identity,
  now: number,
): Promise<Account | OidcRefusal> {
  if (identity.email === undefined || !/^[^\s@]{1,64}@[^\s@]{1,189}$/.test(identity.email)) return 'no_email'
  if (!identity.isEmailVerified && !provider.trustsEmail) return 'unconfirmed_email'
  const email = normalizeEmail(identity.email)
  if (!provider.domains.includes(email.slice(email.lastIndexOf('@') + 1))) return 'foreign_email'
  if (!(await findAccount(transaction, email))) {
    const isGranted = [...grantedRoles(provider, identity).values()].some((role) => role !== undefined)
    if (!isGranted && !(await isInvited(transaction, email, now))) return 'no_access'
    const name = identity.name?.replaceAll(/\p{C}/gu, '').trim().slice(0, 100)
    await insertUserIfNew(transaction, { email, isVerified: true, ...(name && { name }) }, now)
  }
  const account = (await lockAccount(transaction, (await findAccount(transaction, email))!.id))!
  await takeOver(transaction, account, now)
  await transaction
    .insertInto('identities')
    .values({
      ...{ issuer: identity.issuer, subject: identity.subject, person_id: account.id },
      ...{ created_at: now, last_used_at: now },
    })
    .onConflict((conflict) => conflict.columns(['issuer', 'subject']).doNothing())
    .execute()
  return (await lockAccount(transaction, account.id))!
}

/** Whoever made an account with an address that nobody confirmed may not be its holder: what they could sign in with ends. */
async function takeOver(transaction: Database, { id }: Account, now: number): Promise<void> {
  const taken = await transaction
    .updateTable('people')
    .set({ email_verified: 1, password_hash: null, two_factor_enabled: 0, updated_at: now })
    .where('id', '=', id)
    .where('email_verified', '=', 0)
    .executeTakeFirst()
  if (taken.numUpdatedRows === 0n) return
  await transaction.deleteFrom('second_factors').where('person_id', '=', id).execute()
  await deleteSessions(transaction, id)
  await deleteTokens(transaction, id, [...LINK_PURPOSES, ...SIGN_IN_PURPOSES])
}

async function touchIdentity(transaction: Database, { issuer, subject }: Identity, now: number): Promise<void> {
  await transaction
    .updateTable('identities')
    .set({ last_used_at: now })
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .execute()
}

type GrantedRole = Exclude<AgentRole, 'owner'> | undefined

/** The highest role in each organization of the provider's grants; undefined in those where no grant is for the user. */
function grantedRoles({ grants }: OidcProvider, { groups }: Identity): Map<string, GrantedRole> {
  const roles = new Map<string, GrantedRole>()
  for (const { organization, role, group } of grants) {
    const before = roles.get(organization)
    const isFor = group === undefined || groups.includes(group)
    roles.set(organization, isFor && (before === undefined || isHigher(role, before)) ? role : before)
  }
  return roles
}

type Grant = { provider: OidcProvider; account: Account; organizationId: string; role: GrantedRole }

async function applyGrant(
  deps: OidcDeps,
  { provider, account, organizationId, role }: Grant,
  origin: BrowserOrigin,
): Promise<void> {
  const { db } = deps
  const exists = await db.selectFrom('organizations').select('id').where('id', '=', organizationId).executeTakeFirst()
  if (!exists) return
  await lockOrganization(db, organizationId)
  const actor = { type: 'system', id: 'system', label: provider.name } as const
  const context: RequestContext = { ...systemContext(organizationId, origin.now, actor), ...origin }
  const membership = await findMembership(db, account.id, organizationId)
  if (!membership) {
    if (role === undefined) return
    await withinQuota(deps, context, 'agents', (transaction) => addAgent(transaction, context, { user: account, role }))
  } else if (membership.role === 'owner' || membership.role === role) return
  else if (role === undefined) await removeLockedAgent(db, context, membership.id)
  else await changeLockedRole(db, context, membership.id, role)
}

async function isInvited(db: Database, email: string, now: number): Promise<boolean> {
  const invitation = await db
    .selectFrom('invitations')
    .select('id')
    .where('email', '=', email)
    .where('accepted_at', 'is', null)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now)
    .limit(1)
    .executeTakeFirst()
  return invitation !== undefined
}
