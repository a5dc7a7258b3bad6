import { fieldError } from '#contract/field-errors.ts'
import { recordAccountAudit } from '../audit-log.ts'
import type { Origin } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import type { Deps } from '../deps.ts'
import { newId } from '../ids.ts'
import { accountToken } from '../mail/links.ts'
import type { AccountMail } from '../mail/mail-templates.ts'
import { queueMail } from '../mail/outbox.ts'
import { invalid } from '../problem.ts'
import { changeEmail, mailUser, replacePassword } from './account-changes.ts'
import {
  consumeAccountToken,
  consumeToken,
  findTokenContent,
  findTokenOwner,
  insertToken,
  type TokenPurpose,
} from './account-tokens.ts'
import { insertOwnedOrganization } from './organizations.ts'
import { type Passwords, refuseCommonPassword } from './passwords.ts'
import { findUser, insertUser, lockAccount, normalizeEmail } from './users.ts'

const LIFETIME_MS = 60 * 60_000

type LinkDeps = Pick<Deps, 'db' | 'clock' | 'keyring'>

/** Mails a link to choose a new password, if the address has an account. */
export async function sendResetLink({ db, clock, keyring }: LinkDeps, email: string): Promise<void> {
  const user = await findUser(db, email)
  if (!user) return
  await inTransaction(db, async (transaction) => {
    const account = await lockAccount(transaction, user.id)
    if (account?.email !== user.email) return
    const link = { purpose: 'reset-password', userId: account.id } as const
    await sendLink(
      transaction,
      keyring,
      { ...link, recipient: account.email, mail: { kind: 'password_reset' } },
      clock.now(),
    )
  })
}

/** Mails a link that changes the address. Sends nothing to an address that another account has. */
export async function sendEmailChangeLink(
  transaction: Database,
  { clock, keyring }: LinkDeps,
  userId: string,
  newEmail: string,
): Promise<void> {
  const email = normalizeEmail(newEmail)
  if (await findUser(transaction, email)) return
  const link = { purpose: 'change-email', userId, content: { email } } as const
  const mail = { kind: 'email_confirmation', email } as const
  await sendLink(transaction, keyring, { ...link, recipient: email, mail }, clock.now())
}

/** Stored until the address is confirmed. */
type SignUp = { organization: string; name: string; email: string; passwordHash: string }

/** Mails a link that creates the account or, if the address has an account, a mail that says so. */
export async function sendSignUpLink({ db, clock, keyring }: LinkDeps, signUp: SignUp): Promise<void> {
  const email = normalizeEmail(signUp.email)
  if (await findUser(db, email)) return await mailUser(db, email, { kind: 'account_exists' }, clock.now())
  const link = { purpose: 'sign-up', userId: null, content: { ...signUp, email } } as const
  await inTransaction(db, (transaction) =>
    sendLink(transaction, keyring, { ...link, recipient: email, mail: { kind: 'sign_up_confirmation' } }, clock.now()),
  )
}

/** Ends all sessions, links and trusted browsers of the account. Throws 400 for a used or expired link. */
export async function resetPassword(
  db: Database,
  passwords: Passwords,
  { token, newPassword }: { token: string; newPassword: string },
  origin: Origin,
): Promise<{ email: string }> {
  // Checked first, because hashing costs CPU time that nobody may use up without a valid link.
  if ((await findTokenOwner(db, 'reset-password', token, origin.now)) === undefined) throw badLink()
  refuseCommonPassword(newPassword, 'newPassword')
  const passwordHash = await passwords.hash(newPassword)
  return await inTransaction(db, async (transaction) => {
    const link = await consumeAccountToken(transaction, 'reset-password', token, origin.now)
    if (!link) throw badLink()
    await replacePassword(transaction, link.account, passwordHash, origin.now)
    await recordAccountAudit(transaction, origin, link.account.id, { action: 'agent.password_reset' })
    return link.account
  })
}

/**
 * Creates the account that a link stands for. Asks for the password that was chosen: somebody else may have signed up with the address, and
 * would know the password of an account that its holder confirms. Throws 400 for a wrong password, and for a used or expired link.
 */
export async function confirmSignUp(
  { db, passwords }: { db: Database; passwords: Passwords },
  { token, password }: { token: string; password: string },
  origin: Origin,
): Promise<void> {
  const { passwordHash: hash } = (await findTokenContent<SignUp>(db, 'sign-up', token, origin.now)) ?? {}
  if (hash === undefined) throw badLink()
  if (!(await passwords.verify({ hash, password }))) throw invalid({ password: fieldError('wrong_password') })
  await inTransaction(db, async (transaction) => {
    const signUp = await consumeToken<SignUp>(transaction, 'sign-up', token, origin.now)
    if (!signUp) throw badLink()
    const { organization, ...newUser } = signUp
    const user = await insertUser(transaction, { ...newUser, isVerified: true }, origin.now)
    await insertOwnedOrganization(transaction, user, organization, origin)
  })
}

/** Changes the address that a link stands for. Throws 400 for a used or expired link. */
export async function confirmEmail(db: Database, token: string, origin: Origin): Promise<void> {
  await inTransaction(db, async (transaction) => {
    const link = await consumeAccountToken<{ email: string }>(transaction, 'change-email', token, origin.now)
    if (!link) throw badLink()
    await changeEmail(transaction, { ...link, email: link.content.email, isVerified: true }, origin)
  })
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
  keyring: Deps['keyring'],
  { recipient, mail, ...link }: NewLink,
  now: number,
): Promise<void> {
  const id = newId('lnk', now)
  await insertToken(transaction, { ...link, token: accountToken(keyring, id), expiresAt: now + LIFETIME_MS })
  const content = { ...mail, keyId: keyring.keyId }
  await queueMail(transaction, null, { about: id, recipients: [recipient], content }, now)
}

const badLink = () => invalid({ token: fieldError('invalid_link') })
