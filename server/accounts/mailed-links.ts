import { fieldError } from '#contract/field-errors.ts'
import { recordAccountAudit } from '../audit-log.ts'
import type { Origin } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import type { Deps } from '../deps.ts'
import { newId } from '../ids.ts'
import type { AccountMail } from '../mail/content.ts'
import { accountToken } from '../mail/links.ts'
import { queueMail } from '../mail/outbox.ts'
import { conflict, invalid } from '../problem.ts'
import {
  consumeToken,
  consumeTokenOfUser,
  deleteTokens,
  findTokenOwner,
  insertToken,
  LINK_PURPOSES,
  SIGN_IN_PURPOSES,
  type TokenPurpose,
} from './account-tokens.ts'
import { insertOwnedOrganization } from './organizations.ts'
import type { Passwords } from './passwords.ts'
import { deleteSessions } from './sessions.ts'
import { type Account, findUser, insertUser, lockAccount, normalizeEmail, setPassword } from './users.ts'

const VALID_FOR_MS = 60 * 60_000

type LinkDeps = Pick<Deps, 'db' | 'clock' | 'seal'>

/** Mails a link to choose a new password; to an address without an account nothing. */
export async function sendResetLink({ db, clock, seal }: LinkDeps, email: string): Promise<void> {
  const found = await findUser(db, email)
  if (!found) return
  await inTransaction(db, async (transaction) => {
    const person = await lockAccount(transaction, found.id)
    if (person?.email !== found.email) return
    const link = { purpose: 'reset-password', userId: person.id } as const
    await sendLink(
      transaction,
      seal,
      { ...link, recipient: person.email, mail: { kind: 'password_reset' } },
      clock.now(),
    )
  })
}

/** Mails a link to the new address; the change waits for it. To an address that another account has, nothing. */
export async function sendEmailLink(
  transaction: Database,
  { clock, seal }: LinkDeps,
  userId: string,
  newEmail: string,
): Promise<void> {
  const email = normalizeEmail(newEmail)
  if (await findUser(transaction, email)) return
  const link = { purpose: 'change-email', userId, content: { email } } as const
  const mail = { kind: 'email_confirmation', email } as const
  await sendLink(transaction, seal, { ...link, recipient: email, mail }, clock.now())
}

/** Who signs up, until the address is confirmed. */
export type SigningUp = { organization: string; name: string; email: string; passwordHash: string }

/** Mails a link that makes the account; to an address that has one, that it has one. */
export async function sendSignUpLink({ db, clock, seal }: LinkDeps, given: SigningUp): Promise<void> {
  const email = normalizeEmail(given.email)
  if (await findUser(db, email)) return await mailUser(db, email, { kind: 'account_exists' }, clock.now())
  const link = { purpose: 'sign-up', userId: null, content: { ...given, email } } as const
  await inTransaction(db, (transaction) =>
    sendLink(transaction, seal, { ...link, recipient: email, mail: { kind: 'sign_up_confirmation' } }, clock.now()),
  )
}

/** Ends all sessions, and every link and trusted browser of the account. Throws 400 for a link that was used or has expired. */
export async function resetPassword(
  db: Database,
  passwords: Passwords,
  { token, newPassword }: { token: string; newPassword: string },
  origin: Origin,
): Promise<{ email: string }> {
  // Only for a link that is good: hashing takes time that no stranger may cost.
  if ((await findTokenOwner(db, 'reset-password', token, origin.now)) === undefined) throw badLink()
  const passwordHash = await passwords.hash(newPassword)
  return await inTransaction(db, async (transaction) => {
    const link = await consumeTokenOfUser(transaction, 'reset-password', token, origin.now)
    if (!link) throw badLink()
    await replacePassword(transaction, link.account, passwordHash, origin.now)
    await recordAccountAudit(transaction, origin, link.account.id, { action: 'agent.password_reset' })
    return link.account
  })
}

/** Ends every session and link that the old password permitted, and notifies the person by mail. */
export async function replacePassword(
  transaction: Database,
  { id, email }: { id: string; email: string },
  passwordHash: string,
  now: number,
): Promise<void> {
  await setPassword(transaction, id, passwordHash, now)
  await deleteSessions(transaction, id)
  await deleteTokens(transaction, id, [...LINK_PURPOSES, ...SIGN_IN_PURPOSES])
  await mailUser(transaction, email, { kind: 'password_changed' }, now)
}

/** Makes the change or the account that a link stands for, once. Throws 400 for a link that was used or has expired. */
export async function confirmEmail(db: Database, token: string, origin: Origin): Promise<void> {
  await inTransaction(db, async (transaction) => {
    const signingUp = await consumeToken<SigningUp>(transaction, 'sign-up', token, origin.now)
    if (signingUp) {
      const { organization, ...given } = signingUp
      const person = await insertUser(transaction, { ...given, isVerified: true }, origin.now)
      return void (await insertOwnedOrganization(transaction, person, organization, origin))
    }
    const link = await consumeTokenOfUser<{ email: string }>(transaction, 'change-email', token, origin.now)
    if (!link) throw badLink()
    await changeEmail(transaction, { ...link, email: link.content.email, isVerified: true }, origin)
  })
}

/** Of an account that is locked. Everywhere at once: the person, and the memberships that repeat the address. A mail to the old address says so. Throws 409. */
export async function changeEmail(
  transaction: Database,
  { account, email, isVerified }: { account: Account; email: string; isVerified: boolean },
  origin: Origin,
): Promise<void> {
  const { now } = origin
  const { id: userId } = account
  if (await findUser(transaction, email)) throw conflict(`${email} belongs to another account.`)
  const person = { email: normalizeEmail(email), email_verified: isVerified ? 1 : 0, updated_at: now } as const
  await transaction.updateTable('people').set(person).where('id', '=', userId).execute()
  await transaction.updateTable('agents').set({ email: person.email }).where('person_id', '=', userId).execute()
  await deleteTokens(transaction, userId, LINK_PURPOSES)
  await mailUser(transaction, account.email, { kind: 'email_changed', email: person.email }, now)
  const audited = { before: { email: account.email }, after: { email: person.email } }
  await recordAccountAudit(transaction, origin, userId, { action: 'agent.email_changed', ...audited })
}

async function mailUser(db: Database, recipient: string, content: AccountMail, now: number): Promise<void> {
  await queueMail(db, null, { about: newId('lnk', now), recipients: [recipient], content }, now)
}

type NewLink = {
  purpose: TokenPurpose
  userId: string | null
  content?: object
  recipient: string
  mail: AccountMail
}

async function sendLink(
  transaction: Database,
  seal: Deps['seal'],
  { recipient, mail, ...link }: NewLink,
  now: number,
): Promise<void> {
  const id = newId('lnk', now)
  await insertToken(transaction, { ...link, token: accountToken(seal, id), expiresAt: now + VALID_FOR_MS })
  const content = { ...mail, keyId: seal.keyId }
  await queueMail(transaction, null, { about: id, recipients: [recipient], content }, now)
}

const badLink = () => invalid({ token: fieldError('invalid_link') })
