import { recordAccountAudit } from '../audit-log.ts'
import { type Database, inTransaction } from '../database/database.ts'
import type { Keyring } from '../keyring.ts'
import { Problem } from '../problem.ts'
import { consumeAccountToken, consumeToken, findTokenOwner, insertToken, newToken } from './account-tokens.ts'
import type { Passwords } from './passwords.ts'
import { enableSecondFactor, noSecondFactor, useCode, useRecoveryCode } from './second-factor.ts'
import { type BrowserOrigin, insertSession, PERSISTENT_MS, type StartedSession } from './sessions.ts'
import { type Account, findAccount, lockAccount } from './users.ts'

/** How long a sign-in waits for a code. */
export const PENDING_MS = 10 * 60_000
/** How long a trusted browser needs no code. */
export const TRUSTED_MS = PERSISTENT_MS

/** `provider`: the id of the single sign-on that the user came through. */
type SessionKind = { isPersistent: boolean; provider?: string }
/** Stored until the code arrives. */
type PendingSignIn = SessionKind

/** For the cookies, which are set after the transaction is committed. `pending`: the sign-in waits for a code. */
export type SignInTokens = { session?: StartedSession; pending?: string; trusted?: string }

/** `trustedToken`: of a browser that needs no code; empty without one. */
type Credentials = { email: string; password: string; isPersistent: boolean; trustedToken: string }

/** Throws 401 for a wrong address or password. `getOrigin`: called after the check of the password, which takes a noticeable time. */
export async function signIn(
  db: Database,
  passwords: Passwords,
  { email, password, isPersistent, trustedToken }: Credentials,
  getOrigin: () => BrowserOrigin,
): Promise<SignInTokens> {
  const { id, passwordHash } = await verifyPassword(db, passwords, email, password)
  const origin = getOrigin()
  return await inTransaction(db, async (transaction) => {
    const account = await lockAccount(transaction, id)
    // A new password ends all sessions. A session that is created at the same time would remain.
    if (account?.passwordHash !== passwordHash) throw wrongPassword()
    return await startOrAskForCode(transaction, account, { isPersistent }, trustedToken, origin)
  })
}

/** For an account that proved who it is, and is locked. A second factor is asked for unless the browser is trusted. */
export async function startOrAskForCode(
  transaction: Database,
  { id, hasSecondFactor }: Pick<Account, 'id' | 'hasSecondFactor'>,
  kind: SessionKind,
  trustedToken: string,
  origin: BrowserOrigin,
): Promise<SignInTokens> {
  const { now } = origin
  if (!hasSecondFactor) return { session: await startSession(transaction, id, kind, origin) }
  const trustingUser = await findTokenOwner(transaction, 'trusted-browser', trustedToken, now)
  if (trustingUser === id && (await consumeToken(transaction, 'trusted-browser', trustedToken, now))) {
    const session = await startSession(transaction, id, kind, origin)
    return { session, trusted: await trustBrowser(transaction, id, now) }
  }
  const pending = newToken()
  const content: PendingSignIn = kind
  const expiresAt = now + PENDING_MS
  await insertToken(transaction, { token: pending, purpose: 'pending-sign-in', userId: id, content, expiresAt })
  return { pending }
}

/** The user of a sign-in that waits for a code. Throws 401 if there is none or it has expired. */
export async function getPendingUserId(db: Database, pendingToken: string, now: number): Promise<string> {
  const userId = await findTokenOwner(db, 'pending-sign-in', pendingToken, now)
  if (userId === undefined) throw signInExpired()
  return userId
}

/** `pending`: the sign-in that the code completes; absent if the user is signed in. */
export type CodeEntry = { userId: string; code: string; pending?: { token: string; trustsBrowser: boolean } }

/**
 * Accepts a code of the authenticator app. The first code of a signed-in user turns on the second factor. Throws 400 for a wrong
 * or used code, 401 if the sign-in was completed or has expired meanwhile, 409 without a second factor.
 */
export async function enterCode(
  db: Database,
  keyring: Keyring,
  { userId, code, pending }: CodeEntry,
  origin: BrowserOrigin,
): Promise<SignInTokens> {
  return await inTransaction(db, async (transaction) => {
    const account = await lockAccount(transaction, userId)
    if (!account) throw noSecondFactor()
    await useCode(transaction, keyring, { userId, code }, origin.now)
    if (pending) return await completeSignIn(transaction, userId, pending, origin)
    if (!account.hasSecondFactor) await enableSecondFactor(transaction, userId, origin)
    return {}
  })
}

/** Accepts a recovery code. Throws like `enterCode`. */
export async function enterRecoveryCode(
  db: Database,
  keyring: Keyring,
  { userId, code, pending }: CodeEntry,
  origin: BrowserOrigin,
): Promise<SignInTokens> {
  return await inTransaction(db, async (transaction) => {
    await lockAccount(transaction, userId)
    await useRecoveryCode(transaction, keyring, { userId, code })
    return pending ? await completeSignIn(transaction, userId, pending, origin) : {}
  })
}

/** Throws 401 for a wrong password. An unknown address takes the same time. */
async function verifyPassword(db: Database, passwords: Passwords, email: string, password: string): Promise<Account> {
  const account = await findAccount(db, email)
  const hash = account?.passwordHash
  const isCorrect = hash ? await passwords.verify({ hash, password }) : void (await passwords.hash(password))
  if (!account || !isCorrect) throw wrongPassword()
  return account
}

async function completeSignIn(
  transaction: Database,
  userId: string,
  { token, trustsBrowser }: NonNullable<CodeEntry['pending']>,
  origin: BrowserOrigin,
): Promise<SignInTokens> {
  const pending = await consumeAccountToken<PendingSignIn>(transaction, 'pending-sign-in', token, origin.now)
  if (pending?.account.id !== userId) throw signInExpired()
  const session = await startSession(transaction, userId, pending.content, origin)
  return { session, ...(trustsBrowser && { trusted: await trustBrowser(transaction, userId, origin.now) }) }
}

async function startSession(
  transaction: Database,
  userId: string,
  kind: SessionKind,
  origin: BrowserOrigin,
): Promise<StartedSession> {
  const after = kind.provider === undefined ? {} : { after: { provider: kind.provider } }
  await recordAccountAudit(transaction, origin, userId, { action: 'agent.signed_in', ...after })
  return await insertSession(transaction, { userId, ...kind }, origin)
}

async function trustBrowser(transaction: Database, userId: string, now: number): Promise<string> {
  const token = newToken()
  await insertToken(transaction, { token, purpose: 'trusted-browser', userId, expiresAt: now + TRUSTED_MS })
  return token
}

const wrongPassword = () => new Problem(401, 'Wrong email address or password.')
const signInExpired = () => new Problem(401, 'The sign-in has expired. Sign in again.')
