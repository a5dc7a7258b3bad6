import type { FastifyRequest } from 'fastify'
import * as contract from '#contract/account.ts'
import { recordAccountAudit } from '../audit-log.ts'
import { originOf } from '../context.ts'
import type { Deps } from '../deps.ts'
import { Answers, type Routes } from '../http/routes.ts'
import { invalid } from '../problem.ts'
import { count, fromAddress, guarded, subjectOf } from './account-attempts.ts'
import { signedIn } from './account-gate.ts'
import { forgetAttempts } from './attempts.ts'
import { AUTH_PATH, type Auth } from './auth.ts'
import { asCaller, asked, DONE, tryAt } from './auth-calls.ts'
import { wrongCode } from './auth-errors.ts'
import type { Background } from './background.ts'
import { rememberDevice, signInSubject } from './known-device.ts'
import { confirmEmail, resetPassword, sendResetLink } from './links.ts'
import { findPerson } from './people.ts'
import { takeCode } from './totp.ts'

/** Signing in and out, and getting back in. Bodies and answers: `contract/account.ts`. */
export function authRoutes(deps: Deps, auth: Auth, background: Background): Routes {
  const { db, clock } = deps
  /** Written after the session, which the library writes by itself. */
  const recordSignIn = async (request: FastifyRequest, personId: string) => {
    await recordAccountAudit(db, originOf(request, clock.now()), personId, { action: 'agent.signed_in' })
  }

  return async (app) => {
    app.post(
      `${AUTH_PATH}/sign-in/email`,
      { schema: { body: contract.SignIn, response: Answers(200, contract.SignedIn) } },
      async (request, reply) => {
        const { body } = request
        const tried = { own: signInSubject(deps, request, body.email), others: fromAddress('sign-in', request.ip, 20) }
        const given = await guarded(deps, reply, tried, () =>
          asked(reply, auth.api.signInEmail({ body, ...asCaller(request) })),
        )
        rememberDevice(deps, reply, body.email)
        const twoFactorRedirect = 'twoFactorRedirect' in given
        const person = twoFactorRedirect ? undefined : await findPerson(db, body.email)
        if (person) await recordSignIn(request, person.id)
        return { twoFactorRedirect }
      },
    )

    app.post(
      `${AUTH_PATH}/two-factor/verify-totp`,
      { schema: { body: contract.Code, response: Answers(200, contract.Done) } },
      async (request, reply) => {
        const body = { ...request.body, code: request.body.code.replaceAll(/[ -]/g, '') }
        await tryAt(deps, auth, request, reply, 'code', async (personId) => {
          const taken = await takeCode(db, auth, { personId, code: body.code }, clock.now())
          if (taken === 'wrong') throw wrongCode()
          if (taken === 'used')
            throw invalid({ code: 'was already used. Wait for the next code in your authenticator app.' })
          await asked(reply, auth.api.verifyTOTP({ body, ...asCaller(request) }))
          // The first code of somebody who is signed in turns the second factor on.
          const { session } = request
          const action = 'agent.second_factor_enabled'
          if (session === null) await recordSignIn(request, personId)
          else if (!session.hasSecondFactor)
            await recordAccountAudit(db, originOf(request, clock.now()), personId, { action })
        })
        return DONE
      },
    )

    app.post(
      `${AUTH_PATH}/two-factor/verify-backup-code`,
      { schema: { body: contract.Code, response: Answers(200, contract.Done) } },
      async (request, reply) => {
        await tryAt(deps, auth, request, reply, 'code', async (personId) => {
          await asked(reply, auth.api.verifyBackupCode({ body: request.body, ...asCaller(request) }))
          if (request.session === null) await recordSignIn(request, personId)
        })
        return DONE
      },
    )

    app.post(
      `${AUTH_PATH}/request-password-reset`,
      { schema: { body: contract.ResetRequest, response: Answers(200, contract.Done) } },
      async ({ body, ip }, reply) => {
        const account = { subject: subjectOf('reset', body.email), free: 3 }
        await count(deps, reply, [...fromAddress('reset', ip, 20), account])
        // Nobody waits for it, so that an address without an account is answered as fast as one with.
        background.start(sendResetLink(deps, auth, body.email), 'A password reset link could not be created.')
        return DONE
      },
    )

    app.post(
      `${AUTH_PATH}/reset-password`,
      { schema: { body: contract.Reset, response: Answers(200, contract.Done) } },
      async (request) => {
        const { email } = await resetPassword(deps, auth, request.body, originOf(request, clock.now()))
        await forgetAttempts(db, subjectOf('account', email))
        return DONE
      },
    )

    app.post(
      `${AUTH_PATH}/verify-email`,
      { schema: { body: contract.EmailConfirmation, response: Answers(200, contract.Done) } },
      async (request) => {
        await confirmEmail(deps, auth, request.body.token, originOf(request, clock.now()))
        return DONE
      },
    )

    app.post(`${AUTH_PATH}/sign-out`, { schema: { response: Answers(200, contract.Done) } }, async (request, reply) => {
      signedIn(request)
      await asked(reply, auth.api.signOut(asCaller(request)))
      return DONE
    })
  }
}
