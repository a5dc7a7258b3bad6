import * as contract from '#contract/account.ts'
import { forgetAttempts } from '../access/attempts.ts'
import { AUTH_PATH, type Auth } from '../access/auth.ts'
import { forgetTrust } from '../access/session-store.ts'
import { networkOf } from '../http/gate.ts'
import { Answers, type Routes } from '../http/routes.ts'
import type { Doors } from '../outside.ts'
import { count, guarded, subjectOf } from './account-attempts.ts'
import { signedIn } from './account-gate.ts'
import { confirmEmail, sendResetLink, tellPerson } from './account-links.ts'
import { asCaller, asked, DONE, tryAt } from './auth-calls.ts'
import { rememberDevice, signInSubject } from './known-device.ts'

/** Signing in and out, and getting back in. Bodies and answers: `contract/account.ts`. */
export function authRoutes(doors: Doors, auth: Auth): Routes {
  const { db, clock, seal } = doors
  return async (app) => {
    const underWay = new Set<Promise<void>>()
    app.addHook('onClose', async () => void (await Promise.allSettled(underWay)))

    app.post(
      `${AUTH_PATH}/sign-in/email`,
      { schema: { body: contract.SignIn, response: Answers(200, contract.SignedIn) } },
      async (request, reply) => {
        const { body } = request
        const tried = { own: signInSubject(doors, request, body.email), others: [fromAddress(request)] }
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
        await tryAt(doors, auth, request, reply, 'code', () =>
          asked(reply, auth.api.verifyTOTP({ body, ...asCaller(request) })),
        )
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
      async ({ body, ip, log }, reply) => {
        const account = { subject: subjectOf('reset', body.email), free: 3 }
        await count(doors, reply, [account, { subject: `reset from ${networkOf(ip)}`, free: 20 }])
        // Nobody waits for it, so that an address without an account is answered as fast as one with.
        const work = sendResetLink(doors, auth, body.email)
          .catch((err: unknown) => log.error({ err }, 'A link for a new password could not be written.'))
          .finally(() => underWay.delete(work))
        underWay.add(work)
        return DONE
      },
    )

    app.post(
      `${AUTH_PATH}/reset-password`,
      { schema: { body: contract.Reset, response: Answers(200, contract.Done) } },
      async (request, reply) => {
        const { internalAdapter } = await auth.$context
        const link = await internalAdapter.findVerificationValue(`reset-password:${request.body.token}`)
        await asked(reply, auth.api.resetPassword({ body: request.body, ...asCaller(request) }))
        const person = link && (await internalAdapter.findUserById(link.value))
        if (!person) return DONE
        await forgetTrust(db, person.id)
        await forgetAttempts(db, subjectOf('account', person.email))
        await tellPerson(db, person.email, { kind: 'password_changed' }, clock.now())
        return DONE
      },
    )

    app.post(
      `${AUTH_PATH}/verify-email`,
      { schema: { body: contract.EmailConfirmation, response: Answers(200, contract.Done) } },
      async ({ body }) => {
        await confirmEmail({ db, clock, seal }, auth, body.token)
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

const fromAddress = ({ ip }: { ip: string }) => ({ subject: `sign-in from ${networkOf(ip)}`, free: 20 })
