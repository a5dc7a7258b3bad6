import { fieldError } from '#contract/field-errors.ts'
import { recordAccountAudit } from '../audit-log.ts'
import type { Origin } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import { nextVersion } from '../database/versions.ts'
import { newId } from '../ids.ts'
import type { AccountMail } from '../mail/mail-templates.ts'
import { queueMail } from '../mail/outbox.ts'
import { conflict, invalid } from '../problem.ts'
import { deleteTokens, LINK_PURPOSES, SIGN_IN_PURPOSES } from './account-tokens.ts'
import type { Passwords } from './passwords.ts'
import { type BrowserOrigin, deleteSessions, insertSession, type StartedSession } from './sessions.ts'
import { type Account, findAccountById, findUser, lockAccount, normalizeEmail, setPassword } from './users.ts'

/** `field`: of a wrong password in the 400. `prepare`: runs after the check and before the transaction. */
export type PasswordCheck<P> = { password: string; field?: string; prepare?: () => Promise<P> }
/** `account`: locked. */
export type AccountWork<T, P> = (transaction: Database, account: Account, prepared: P | undefined) => Promise<T>

/** Checks the password of a signed-in user and runs work in a transaction that locks the account. Throws 400 for a wrong password. */
export async function withPassword<T, P>(
  { db, passwords }: { db: Database; passwords: Passwords },
  userId: string,
  { password, field = 'password', prepare }: PasswordCheck<P>,
  work: AccountWork<T, P>,
): Promise<T> {
  const wrong = () => invalid({ [field]: fieldError('wrong_password') })
  const hash = (await findAccountById(db, userId))?.passwordHash
  if (!hash || !(await passwords.verify({ hash, password }))) throw wrong()
  const prepared = await prepare?.()
  return await inTransaction(db, async (transaction) => {
    const account = await lockAccount(transaction, userId)
    if (account?.passwordHash !== hash) throw wrong()
    return await work(transaction, account, prepared)
  })
}

/** Also renames the user's agents, which repeat the name. */
export async function renameUser(
  db: Database,
  { userId, name }: { userId: string; name: string },
  newName: string,
  origin: Origin,
): Promise<void> {
  await inTransaction(db, async (transaction) => {
    const change = { name: newName, updated_at: origin.now }
    await transaction.updateTable('people').set(change).where('id', '=', userId).execute()
    await transaction
      .updateTable('agents')
      .set({ name: newName, ...nextVersion })
      .where('person_id', '=', userId)
      .execute()
    const [before, after] = [{ name }, { name: newName }]
    await recordAccountAudit(transaction, origin, userId, { action: 'agent.renamed', before, after })
  })
}

/** `account`: locked. Like `replacePassword`, and starts a new session. */
export async function changePassword(
  transaction: Database,
  account: Account,
  passwordHash: string,
  origin: BrowserOrigin,
): Promise<StartedSession> {
  await replacePassword(transaction, account, passwordHash, origin.now)
  await recordAccountAudit(transaction, origin, account.id, { action: 'agent.password_changed' })
  return await insertSession(transaction, { userId: account.id, isPersistent: true }, origin)
}

/** Also ends every session and link of the account, and notifies the user by mail. */
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

/** `account`: locked. Also changes the user's agents, which repeat the address, and notifies the old address. Throws 409 for a taken address. */
export async function changeEmail(
  transaction: Database,
  { account, email, isVerified }: { account: Account; email: string; isVerified: boolean },
  origin: Origin,
): Promise<void> {
  const { now } = origin
  const { id: userId } = account
  if (await findUser(transaction, email)) throw conflict(`${email} belongs to another account.`)
  const change = { email: normalizeEmail(email), email_verified: isVerified ? 1 : 0, updated_at: now } as const
  await transaction.updateTable('people').set(change).where('id', '=', userId).execute()
  await transaction.updateTable('agents').set({ email: change.email }).where('person_id', '=', userId).execute()
  await deleteTokens(transaction, userId, LINK_PURPOSES)
  await mailUser(transaction, account.email, { kind: 'email_changed', email: change.email }, now)
  const [before, after] = [{ email: account.email }, { email: change.email }]
  await recordAccountAudit(transaction, origin, userId, { action: 'agent.email_changed', before, after })
}

/** Notifies a user about the own account. */
export async function mailUser(db: Database, recipient: string, content: AccountMail, now: number): Promise<void> {
  await queueMail(db, null, { about: newId('lnk', now), recipients: [recipient], content }, now)
}
