import { recordAccountAudit } from '../audit-log.ts'
import type { Origin } from '../context.ts'
import { type Database, forUpdate, inTransaction } from '../database/database.ts'
import type { Deps } from '../deps.ts'
import { newId } from '../ids.ts'
import { accountToken } from '../mail/account-link.ts'
import type { AccountMail } from '../mail/content.ts'
import { queueMail } from '../mail/outbox.ts'
import { conflict, invalid } from '../problem.ts'
import { insertAccount } from './account-store.ts'
import type { Auth } from './auth.ts'
import { insertOrganizationOf } from './organizations.ts'
import { emailOf, findPerson, setPassword } from './people.ts'
import { endSessions, forgetTrust } from './session-store.ts'

const VALID_FOR_MS = 60 * 60_000

type LinkDeps = Pick<Deps, 'db' | 'clock' | 'seal'>

/** Mails a link to choose a new password; to an address without an account nothing. */
export async function sendResetLink(deps: LinkDeps, auth: Auth, email: string): Promise<void> {
  const person = await findPerson(deps.db, email)
  if (!person) return
  await sendLink(deps, auth, person.email, { purpose: 'reset-password', personId: person.id })
}

/** Mails a link to the new address; the change waits for it. To an address that another account has, nothing. */
export async function sendEmailLink(deps: LinkDeps, auth: Auth, personId: string, newEmail: string): Promise<void> {
  const email = emailOf(newEmail)
  if (await findPerson(deps.db, email)) return
  await sendLink(deps, auth, email, { purpose: 'change-email', personId, email })
}

/** Who signs up, until the address is confirmed. */
export type SigningUp = { organization: string; name: string; email: string; passwordHash: string }

/** Mails a link that makes the account; to an address that has one, that it has one. */
export async function sendSignUpLink(deps: LinkDeps, auth: Auth, given: SigningUp): Promise<void> {
  const { db, clock } = deps
  const email = emailOf(given.email)
  if (await findPerson(db, email)) return await tellPerson(db, email, { kind: 'account_exists' }, clock.now())
  const value = JSON.stringify({ ...given, email })
  await keepAndMail(deps, auth, email, { purpose: 'sign-up', value, content: { kind: 'sign_up_confirmation' } })
}

/** Ends all sessions, and every link and trusted browser of the account. Throws 400 for a link that was used or has run out. */
export async function resetPassword(
  deps: LinkDeps,
  auth: Auth,
  { token, newPassword }: { token: string; newPassword: string },
  origin: Origin,
): Promise<{ email: string }> {
  const { db } = deps
  const link = await takeLink(deps, auth, 'reset-password', token)
  const { password: passwords } = await auth.$context
  const hash = await passwords.hash(newPassword)
  const { now } = origin
  const { id, email } = await inTransaction(db, async (transaction) => {
    const person = await getLinked(deps, transaction, link)
    await setPassword(transaction, person.id, hash, now)
    await forgetTrust(transaction, person.id)
    await tellPerson(transaction, person.email, { kind: 'password_changed' }, now)
    await recordAccountAudit(transaction, origin, person.id, { action: 'agent.password_reset' })
    return person
  })
  // After the new password holds: a sign-in with the old one finds out by itself from then on.
  await endSessions(db, id)
  return { email }
}

/** Makes the change or the account that a link stands for, once. Throws 400 for a link that was used or has run out. */
export async function confirmEmail(deps: LinkDeps, auth: Auth, token: string, origin: Origin): Promise<void> {
  const signingUp = await findLink<SigningUp>(deps, auth, 'sign-up', token)
  if (signingUp) return await makeAccount(deps.db, signingUp, origin)
  const link = await takeLink(deps, auth, 'change-email', token)
  await inTransaction(deps.db, async (transaction) => {
    const { id: personId } = await getLinked(deps, transaction, link)
    await changeEmail(transaction, { personId, email: link.email!, isVerified: true }, origin)
  })
}

async function makeAccount(db: Database, { organization, ...given }: SigningUp, origin: Origin): Promise<void> {
  await inTransaction(db, async (transaction) => {
    const person = await insertAccount(transaction, { ...given, isVerified: true }, origin.now)
    await insertOrganizationOf(transaction, person, organization, origin)
  })
}

/** Everywhere at once: the person, and the memberships that repeat the address. The old address is told. Throws 409. */
export async function changeEmail(
  db: Database,
  { personId, email, isVerified }: { personId: string; email: string; isVerified: boolean },
  origin: Origin,
): Promise<void> {
  const { now } = origin
  await inTransaction(db, async (transaction) => {
    if (await findPerson(transaction, email)) throw conflict(`${email} belongs to another account.`)
    const before = await transaction.selectFrom('people').select('email').where('id', '=', personId).executeTakeFirst()
    if (!before) throw conflict('This account is no more.')
    const person = { email: emailOf(email), email_verified: isVerified ? 1 : 0, updated_at: now } as const
    await transaction.updateTable('people').set(person).where('id', '=', personId).execute()
    await transaction.updateTable('agents').set({ email: person.email }).where('person_id', '=', personId).execute()
    await tellPerson(transaction, before.email, { kind: 'email_changed', email: person.email }, now)
    const audited = { before, after: { email: person.email } }
    await recordAccountAudit(transaction, origin, personId, { action: 'agent.email_changed', ...audited })
  })
}

/** Writes a person what happened to the own account. */
export async function tellPerson(db: Database, recipient: string, content: AccountMail, now: number): Promise<void> {
  await queueMail(db, null, { about: newId('lnk', now), recipients: [recipient], content }, now)
}

/** What a link is for. `email`: the address that a change is to. */
type Link = { purpose: 'reset-password' | 'change-email'; personId: string; email?: string }
/** `account`: what the account was when the link was made. */
type KeptLink = Link & { account: string }

async function sendLink(deps: LinkDeps, auth: Auth, recipient: string, link: Link): Promise<void> {
  const account = await findAccount(deps, deps.db, link.personId)
  if (!account) return
  const kept: KeptLink = { ...link, account: account.mark }
  const content: AccountMail =
    link.email === undefined ? { kind: 'password_reset' } : { kind: 'email_confirmation', email: link.email }
  await keepAndMail(deps, auth, recipient, { purpose: link.purpose, value: JSON.stringify(kept), content })
}

type Purpose = Link['purpose'] | 'sign-up'

async function keepAndMail(
  { db, clock, seal }: LinkDeps,
  auth: Auth,
  recipient: string,
  { purpose, value, content }: { purpose: Purpose; value: string; content: AccountMail },
): Promise<void> {
  const now = clock.now()
  const id = newId('lnk', now)
  const { internalAdapter } = await auth.$context
  await internalAdapter.createVerificationValue({
    identifier: `${purpose}:${accountToken(seal, id)}`,
    value,
    expiresAt: new Date(now + VALID_FOR_MS),
  })
  await queueMail(db, null, { about: id, recipients: [recipient], content }, now)
}

async function takeLink(deps: LinkDeps, auth: Auth, purpose: Link['purpose'], token: string): Promise<KeptLink> {
  const found = await findLink<KeptLink>(deps, auth, purpose, token)
  if (!found) throw badLink()
  return found
}

/** Takes what was kept for a link, so that nobody else gets it; undefined where it was used or has run out. */
async function findLink<T>(deps: LinkDeps, auth: Auth, purpose: Purpose, token: string): Promise<T | undefined> {
  const { internalAdapter } = await auth.$context
  const found = await internalAdapter.consumeVerificationValue(`${purpose}:${token}`)
  return found && found.expiresAt.getTime() > deps.clock.now() ? (JSON.parse(found.value) as T) : undefined
}

/** The account of a link, locked until the transaction ends. Throws 400 where its password or address is another by now. */
async function getLinked(deps: LinkDeps, transaction: Database, { personId, account }: KeptLink) {
  const found = await findAccount(deps, transaction, personId)
  if (found?.mark !== account) throw badLink()
  return found
}

/** `mark`: changes with the password and with the address, and shows neither. */
async function findAccount({ seal }: LinkDeps, db: Database, personId: string) {
  const person = await db
    .selectFrom('people')
    .select(['id', 'email'])
    .where('id', '=', personId)
    .modifyEnd(forUpdate(db))
    .executeTakeFirst()
  if (!person) return undefined
  const credential = await db
    .selectFrom('credentials')
    .select('password')
    .where('person_id', '=', personId)
    .where('provider_id', '=', 'credential')
    .executeTakeFirst()
  const text = JSON.stringify(['account', person.id, person.email, credential?.password ?? null])
  return { ...person, mark: seal.sign(text).toString('base64url') }
}

const badLink = () =>
  invalid({
    token: 'is invalid: the link was used or has expired, or the account has changed. Request a new link.',
  })
