import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import * as contract from '#contract/account.ts'
import { fieldError } from '#contract/field-errors.ts'
import { recordAccountAudit } from '../audit-log.ts'
import { requestOrigin } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import type { Deps } from '../deps.ts'
import { Responses, type Routes } from '../http/routes.ts'
import { invalid, Problem } from '../problem.ts'
import { consumeAccountToken, consumeToken, findTokenOwner, insertToken, newToken } from './account-tokens.ts'
import {
  addressCounters,
  countAttempts,
  hashedSubject,
  limitAttempts,
  rememberDevice,
  resetAttempts,
  signInAttempt,
  userAttempt,
} from './attempt-limits.ts'
import { readCookie, setCookie, setSessionCookie } from './cookies.ts'
import { confirmEmail, resetPassword, sendResetLink } from './mailed-links.ts'
import type { Passwords } from './passwords.ts'
import { AUTH_PATH, DONE, getSession } from './request-session.ts'
import { confirmSecondFactor, noSecondFactor, useBackupCode, useCode } from './second-factor.ts'
import { deleteSession, insertSession, PERSISTENT_MS, type StartedSession } from './sessions.ts'
import { type Account, findAccount, lockAccount } from './users.ts'

const CODE_MS = 10 * 60_000
const TRUSTED_MS = PERSISTENT_MS

/** Stored until the code arrives. */
type PendingSignIn = { isPersistent: boolean }

/** The cookies to set after the transaction is committed. */
type SignInCookies = { session?: StartedSession; pending?: string; trusted?: string }

/** Sign-in, sign-out, and password reset. Bodies and responses: `contract/account.ts`. */
export function signInRoutes(deps: Deps, passwords: Passwords, background: Background): Routes {
  const { db, clock, config, seal } = deps

  const setCookies = (request: FastifyRequest, reply: FastifyReply, { session, pending, trusted }: SignInCookies) => {
    if (session) setSessionCookie(config, reply, session)
    if (pending !== undefined) setCookie(reply, config, 'two_factor', pending, CODE_MS)
    else if (readCookie(request, config, 'two_factor') !== undefined) setCookie(reply, config, 'two_factor', '', 0)
    if (trusted !== undefined) setCookie(reply, config, 'trust_device', trusted, TRUSTED_MS)
  }

  /** Throws 401 for a wrong password. An unknown address takes the same time. */
  const verifyPassword = async (email: string, password: string): Promise<Account> => {
    const account = await findAccount(db, email)
    const hash = account?.passwordHash
    const isCorrect = hash ? await passwords.verify({ hash, password }) : void (await passwords.hash(password))
    if (!account || !isCorrect) throw wrongPassword()
    return account
  }

  const startSession = async (
    transaction: Database,
    request: FastifyRequest,
    userId: string,
    { isPersistent }: PendingSignIn,
  ) => {
    const origin = requestOrigin(request, clock.now())
    await recordAccountAudit(transaction, origin, userId, { action: 'agent.signed_in' })
    return await insertSession(transaction, request, { userId, isPersistent }, origin.now)
  }

  const trustBrowser = async (transaction: Database, userId: string): Promise<string> => {
    const token = newToken()
    const expiresAt = clock.now() + TRUSTED_MS
    await insertToken(transaction, { token, purpose: 'trusted-browser', userId, expiresAt })
    return token
  }

  /** The user who enters a code. Throws 401 without a session and without a pending sign-in. */
  const getUserOfCode = async (request: FastifyRequest): Promise<string> => {
    const token = readCookie(request, config, 'two_factor') ?? ''
    const userId = request.session?.userId ?? (await findTokenOwner(db, 'pending-sign-in', token, clock.now()))
    if (userId === undefined) throw signInExpired()
    return userId
  }

  /** After a correct code. Throws 401 if the sign-in was completed or has expired meanwhile. */
  const completeSignIn = async (
    transaction: Database,
    request: FastifyRequest,
    userId: string,
    trustDevice = false,
  ): Promise<SignInCookies> => {
    const token = readCookie(request, config, 'two_factor') ?? ''
    const pending = await consumeAccountToken<PendingSignIn>(transaction, 'pending-sign-in', token, clock.now())
    if (pending?.account.id !== userId) throw signInExpired()
    const session = await startSession(transaction, request, userId, pending.content)
    return { session, ...(trustDevice && { trusted: await trustBrowser(transaction, userId) }) }
  }

  return async (app) => {
    app.post(
      `${AUTH_PATH}/sign-in/email`,
      { schema: { body: contract.SignIn, response: Responses(200, contract.SignedIn) } },
      async (request, reply) => {
        const { email, password, rememberMe: isPersistent = true } = request.body
        const cookies = await limitAttempts(deps, reply, signInAttempt(deps, request, email), async () => {
          const { id, passwordHash } = await verifyPassword(email, password)
          return await inTransaction(db, async (transaction): Promise<SignInCookies> => {
            const account = await lockAccount(transaction, id)
            // A new password ends all sessions. A session that is created at the same time would remain.
            if (account?.passwordHash !== passwordHash) throw wrongPassword()
            if (!account.hasSecondFactor)
              return { session: await startSession(transaction, request, id, { isPersistent }) }
            const now = clock.now()
            const token = readCookie(request, config, 'trust_device') ?? ''
            const owner = await findTokenOwner(transaction, 'trusted-browser', token, now)
            if (owner === id && (await consumeToken(transaction, 'trusted-browser', token, now))) {
              const session = await startSession(transaction, request, id, { isPersistent })
              return { session, trusted: await trustBrowser(transaction, id) }
            }
            const pending = newToken()
            await insertToken(transaction, {
              ...{ token: pending, purpose: 'pending-sign-in', userId: id },
              ...{ content: { isPersistent }, expiresAt: now + CODE_MS },
            })
            return { pending }
          })
        })
        rememberDevice(deps, reply, email)
        setCookies(request, reply, cookies)
        return { twoFactorRedirect: cookies.pending !== undefined }
      },
    )

    app.post(
      `${AUTH_PATH}/two-factor/verify-totp`,
      { schema: { body: contract.Code, response: Responses(200, contract.Done) } },
      async (request, reply) => {
        const code = request.body.code.replaceAll(/[ -]/g, '')
        const userId = await getUserOfCode(request)
        const cookies = await limitAttempts(deps, reply, userAttempt('code', userId, request.ip), () =>
          inTransaction(db, async (transaction): Promise<SignInCookies> => {
            const account = await lockAccount(transaction, userId)
            const result = await useCode(transaction, seal, { userId, code }, clock.now())
            if (result === 'none' || !account) throw noSecondFactor()
            if (result === 'wrong') throw invalid({ code: fieldError('wrong_code') })
            if (result === 'used') throw invalid({ code: fieldError('used_code') })
            if (!request.session) return await completeSignIn(transaction, request, userId, request.body.trustDevice)
            // The first code of a signed-in user turns on the second factor.
            if (account.hasSecondFactor) return {}
            await confirmSecondFactor(transaction, userId)
            const origin = requestOrigin(request, clock.now())
            await recordAccountAudit(transaction, origin, userId, { action: 'agent.second_factor_enabled' })
            return {}
          }),
        )
        setCookies(request, reply, cookies)
        return DONE
      },
    )

    app.post(
      `${AUTH_PATH}/two-factor/verify-backup-code`,
      { schema: { body: contract.Code, response: Responses(200, contract.Done) } },
      async (request, reply) => {
        const { code, trustDevice } = request.body
        const userId = await getUserOfCode(request)
        const cookies = await limitAttempts(deps, reply, userAttempt('code', userId, request.ip), () =>
          inTransaction(db, async (transaction): Promise<SignInCookies> => {
            await lockAccount(transaction, userId)
            const result = await useBackupCode(transaction, seal, { userId, code })
            if (result === 'none') throw noSecondFactor()
            if (result === 'wrong') throw invalid({ code: fieldError('wrong_backup_code') })
            return request.session ? {} : await completeSignIn(transaction, request, userId, trustDevice)
          }),
        )
        setCookies(request, reply, cookies)
        return DONE
      },
    )

    app.post(
      `${AUTH_PATH}/request-password-reset`,
      { schema: { body: contract.ResetRequest, response: Responses(200, contract.Done) } },
      async ({ body, ip }, reply) => {
        const account = { subject: hashedSubject('reset', body.email), free: 3 }
        await countAttempts(deps, reply, [...addressCounters('reset', ip, 20), account])
        // In the background, so that the response time does not reveal whether the address has an account.
        background.start(sendResetLink(deps, body.email), 'The password reset email could not be created.')
        return DONE
      },
    )

    app.post(
      `${AUTH_PATH}/reset-password`,
      { schema: { body: contract.Reset, response: Responses(200, contract.Done) } },
      async (request) => {
        const { email } = await resetPassword(db, passwords, request.body, requestOrigin(request, clock.now()))
        await resetAttempts(db, hashedSubject('account', email))
        return DONE
      },
    )

    app.post(
      `${AUTH_PATH}/verify-email`,
      { schema: { body: contract.EmailConfirmation, response: Responses(200, contract.Done) } },
      async (request) => {
        await confirmEmail(db, request.body.token, requestOrigin(request, clock.now()))
        return DONE
      },
    )

    app.post(
      `${AUTH_PATH}/sign-out`,
      { schema: { response: Responses(200, contract.Done) } },
      async (request, reply) => {
        const { userId, id } = getSession(request)
        await deleteSession(db, userId, id)
        setCookie(reply, config, 'session_token', '', 0)
        return DONE
      },
    )
  }
}

/** Work that no response waits for. Failures are logged. */
export class Background {
  readonly #log: Logger
  readonly #inProgress = new Set<Promise<void>>()

  constructor(log: Logger) {
    this.#log = log
  }

  start(work: Promise<void>, failureMessage: string): void {
    const logged = work
      .catch((err: unknown) => this.#log.error({ err }, failureMessage))
      .finally(() => this.#inProgress.delete(logged))
    this.#inProgress.add(logged)
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#inProgress)
  }
}

const wrongPassword = () => new Problem(401, 'Wrong email address or password.')
const signInExpired = () => new Problem(401, 'The sign-in has expired. Sign in again.')
