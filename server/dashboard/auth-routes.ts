import * as contract from '#contract/account.ts'
import { forgetAttempts } from '../access/attempts.ts'
import { AUTH_PATH, type Auth } from '../access/auth.ts'
import { takeCode } from '../access/totp.ts'
import { Answers, type Routes } from '../http/routes.ts'
import type { Doors } from '../outside.ts'
import { invalid } from '../problem.ts'
import { count, fromAddress, guarded, subjectOf } from './account-attempts.ts'
import { signedIn } from './account-gate.ts'
import { confirmEmail, resetPassword, sendResetLink } from './account-links.ts'
import { asCaller, asked, DONE, tryAt } from './auth-calls.ts'
import { wrongCode } from './auth-problems.ts'
import type { Background } from './background.ts'
import { rememberDevice, signInSubject } from './known-device.ts'

/** Signing in and out, and getting back in. Bodies and answers: `contract/account.ts`. */
export function authRoutes(doors: Doors, auth: Auth, background: Background): Routes {
  const { db, clock } = doors
  return async (app) => {
    app.post(
      `${AUTH_PATH}/sign-in/email`,
      { schema: { body: contract.SignIn, response: Answers(200, contract.SignedIn) } },
      async (request, reply) => {
        const { body } = request
        const tried = { own: signInSubject(doors, request, body.email), others: fromAddress('sign-in', request.ip, 20) }
        const given = await guarded(doors, reply, tried, () =>
          asked(reply, auth.api.signInEmail({ body, ...asCaller(request) })),
        )
        rememberDevice(doors, reply, body.email)
        return { twoFactorRedirect: 'twoFactorRedirect' in given }
      },
    )

    app.post(
      `${AUTH_PATH}/two-factor/verify-totp`,
      { schema: { body: contract.Code, response: Answers(200, contract.Done) } },
      async (request, reply) => {
        const body = { ...request.body, code: request.body.code.replaceAll(/[ -]/g, '') }
        await tryAt(doors, auth, request, reply, 'code', async (personId) => {
          const taken = await takeCode(db, auth, { personId, code: body.code }, clock.now())
          if (taken === 'wrong') throw wrongCode()
          if (taken === 'used') throw invalid({ code: 'was used already; wait until the app shows the next one.' })
          return await asked(reply, auth.api.verifyTOTP({ body, ...asCaller(request) }))
        })
        return DONE
      },
    )

    app.post(
      `${AUTH_PATH}/two-factor/verify-backup-code`,
      { schema: { body: contract.Code, response: Answers(200, contract.Done) } },
      async (request, reply) => {
        await tryAt(doors, auth, request, reply, 'code', () =>
          asked(reply, auth.api.verifyBackupCode({ body: request.body, ...asCaller(request) })),
        )
        return DONE
      },
    )

    app.post(
      `${AUTH_PATH}/request-password-reset`,
      { schema: { body: contract.ResetRequest, response: Answers(200, contract.Done) } },
      async ({ body, ip }, reply) => {
        const account = { subject: subjectOf('reset', body.email), free: 3 }
        await count(doors, reply, [...fromAddress('reset', ip, 20), account])
        // Nobody waits for it, so that an address without an account is answered as fast as one with.
        background.start(sendResetLink(doors, auth, body.email), 'A link for a new password could not be written.')
        return DONE
      },
    )

    app.post(
      `${AUTH_PATH}/reset-password`,
      { schema: { body: contract.Reset, response: Answers(200, contract.Done) } },
      async ({ body }) => {
        const { email } = await resetPassword(doors, auth, body)
        await forgetAttempts(db, subjectOf('account', email))
        return DONE
      },
    )

    app.post(
      `${AUTH_PATH}/verify-email`,
      { schema: { body: contract.EmailConfirmation, response: Answers(200, contract.Done) } },
      async ({ body }) => {
        await confirmEmail(doors, auth, body.token)
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
