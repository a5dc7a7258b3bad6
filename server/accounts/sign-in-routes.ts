import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import * as contract from '#contract/account.ts'
import { requestOrigin } from '../context.ts'
import type { Deps } from '../deps.ts'
import { Responses, type Routes } from '../http/routes.ts'
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
import { confirmEmail, confirmSignUp, resetPassword, sendResetLink } from './mailed-links.ts'
import type { OidcClient } from './oidc-provider.ts'
import { type Passwords, refusePasswordsIfOff } from './passwords.ts'
import { AUTH_PATH, browserOrigin, DONE, getSession } from './request-session.ts'
import { deleteSession } from './sessions.ts'
import {
  type CodeEntry,
  enterCode,
  enterRecoveryCode,
  getPendingUserId,
  PENDING_MS,
  type SignInTokens,
  signIn,
  TRUSTED_MS,
} from './sign-in.ts'

/** Sets the cookies of a sign-in, and removes that of one that waited for a code. */
export const signInCookies =
  (config: Deps['config']) =>
  (request: FastifyRequest, reply: FastifyReply, { session, pending, trusted }: SignInTokens): void => {
    if (session) setSessionCookie(config, reply, session)
    if (pending !== undefined) setCookie(reply, config, 'two_factor', pending, PENDING_MS)
    else if (readCookie(request, config, 'two_factor') !== undefined) setCookie(reply, config, 'two_factor', '', 0)
    if (trusted !== undefined) setCookie(reply, config, 'trust_device', trusted, TRUSTED_MS)
  }

/** Sign-in, sign-out, and password reset. Bodies and responses: `contract/account.ts`. */
export function signInRoutes(deps: Deps, passwords: Passwords, background: Background, oidc: OidcClient): Routes {
  const { db, clock, config, keyring } = deps

  const setCookies = signInCookies(config)

  /** Throws 401 without a session and without a pending sign-in. */
  const getCodeEntry = async (request: FastifyRequest, code: string, trustsBrowser = false): Promise<CodeEntry> => {
    if (request.session) return { userId: request.session.userId, code }
    const token = readCookie(request, config, 'two_factor') ?? ''
    const userId = await getPendingUserId(db, token, clock.now())
    return { userId, code, pending: { token, trustsBrowser } }
  }

  return async (app) => {
    app.post(
      `${AUTH_PATH}/sign-in/email`,
      { schema: { body: contract.SignIn, response: Responses(200, contract.SignedIn) } },
      async (request, reply) => {
        refusePasswordsIfOff(config)
        const { email, password, rememberMe: isPersistent = true } = request.body
        const trustedToken = readCookie(request, config, 'trust_device') ?? ''
        const credentials = { email, password, isPersistent, trustedToken }
        const tokens = await limitAttempts(deps, reply, signInAttempt(deps, request, email), () =>
          signIn(db, passwords, credentials, () => browserOrigin(request, clock.now())),
        )
        rememberDevice(deps, reply, email)
        setCookies(request, reply, tokens)
        return { twoFactorRedirect: tokens.pending !== undefined }
      },
    )

    app.post(
      `${AUTH_PATH}/two-factor/verify-totp`,
      { schema: { body: contract.Code, response: Responses(200, contract.Done) } },
      async (request, reply) => {
        const code = request.body.code.replaceAll(/[ -]/g, '')
        const entry = await getCodeEntry(request, code, request.body.trustDevice)
        const tokens = await limitAttempts(deps, reply, userAttempt('code', entry.userId, request.ip), () =>
          enterCode(db, keyring, entry, browserOrigin(request, clock.now())),
        )
        setCookies(request, reply, tokens)
        return DONE
      },
    )

    app.post(
      `${AUTH_PATH}/two-factor/verify-backup-code`,
      { schema: { body: contract.Code, response: Responses(200, contract.Done) } },
      async (request, reply) => {
        const { code, trustDevice } = request.body
        const entry = await getCodeEntry(request, code, trustDevice)
        const tokens = await limitAttempts(deps, reply, userAttempt('code', entry.userId, request.ip), () =>
          enterRecoveryCode(db, keyring, entry, browserOrigin(request, clock.now())),
        )
        setCookies(request, reply, tokens)
        return DONE
      },
    )

    app.post(
      `${AUTH_PATH}/request-password-reset`,
      { schema: { body: contract.ResetRequest, response: Responses(200, contract.Done) } },
      async ({ body, ip }, reply) => {
        refusePasswordsIfOff(config)
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
        refusePasswordsIfOff(config)
        const { email } = await resetPassword(db, passwords, request.body, requestOrigin(request, clock.now()))
        await resetAttempts(db, hashedSubject('account', email))
        return DONE
      },
    )

    app.post(
      `${AUTH_PATH}/verify-email`,
      { schema: { body: contract.EmailConfirmation, response: Responses(200, contract.Done) } },
      async (request, reply) => {
        const { token, password } = request.body
        const origin = requestOrigin(request, clock.now())
        if (password === undefined) await confirmEmail(db, token, origin)
        else {
          refusePasswordsIfOff(config)
          const primary = { subject: hashedSubject('sign-up link', token), free: 5 }
          const others = addressCounters('sign-in', request.ip, 20)
          await limitAttempts(deps, reply, { primary, others }, () =>
            confirmSignUp({ db, passwords }, { token, password }, origin),
          )
        }
        return DONE
      },
    )

    app.post(
      `${AUTH_PATH}/sign-out`,
      { schema: { response: Responses(200, contract.SignedOut) } },
      async (request, reply) => {
        const { userId, id, provider: providerId } = getSession(request)
        await deleteSession(db, userId, id)
        setCookie(reply, config, 'session_token', '', 0)
        const provider = config.oidc.providers.find((each) => each.id === providerId)
        return { ...DONE, url: (provider && (await oidc.signOutUrl(provider))) ?? null }
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
