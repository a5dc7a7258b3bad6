import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import * as contract from '#contract/account.ts'
import { fieldError } from '#contract/field-errors.ts'
import { requestOrigin } from '../context.ts'
import type { Deps } from '../deps.ts'
import { Responses, type Routes } from '../http/routes.ts'
import { conflict, invalid } from '../problem.ts'
import { toIso } from '../times.ts'
import {
  type AccountWork,
  changeEmail,
  changePassword,
  type PasswordCheck,
  renameUser,
  withPassword,
} from './account-changes.ts'
import {
  addressCounters,
  countAttempts,
  hashedSubject,
  limitAttempts,
  resetAttempts,
  userAttempt,
} from './attempt-limits.ts'
import { setCookie, setSessionCookie } from './cookies.ts'
import { deleteAccount } from './delete-account.ts'
import { sendEmailChangeLink } from './mailed-links.ts'
import { type Passwords, refuseCommonPassword } from './passwords.ts'
import { exportPersonalData } from './personal-data.ts'
import { AUTH_PATH, browserOrigin, DONE, getSession, requireSession } from './request-session.ts'
import { disableSecondFactor, insertSecondFactor, replaceRecoveryCodes, useAnyCode } from './second-factor.ts'
import { deleteSession, deleteSessions, listSessions } from './sessions.ts'
import { normalizeEmail } from './users.ts'

/** The own account of a signed-in user: name, password, address, second factor, sessions. Bodies and responses: `contract/account.ts`. */
export function profileRoutes(deps: Deps, passwords: Passwords): Routes {
  const { db, clock, config, keyring } = deps

  /** Limits the attempts at the password. */
  const afterPassword = <T, P>(
    request: FastifyRequest,
    reply: FastifyReply,
    check: PasswordCheck<P>,
    work: AccountWork<T, P>,
  ): Promise<T> => {
    const { userId } = getSession(request)
    return limitAttempts(deps, reply, userAttempt('password', userId, request.ip), () =>
      withPassword({ db, passwords }, userId, check, work),
    )
  }

  /** Needs a code as well as the password, so that the password alone does not remove the second factor. Limits the attempts at both. */
  const afterPasswordAndCode = <T>(
    request: FastifyRequest,
    reply: FastifyReply,
    { password, code }: Static<typeof contract.PasswordAndCode>,
    work: AccountWork<T, void>,
  ): Promise<T> => {
    const { primary: codes } = userAttempt('code', getSession(request).userId, request.ip)
    const prepare = () => countAttempts(deps, reply, [codes])
    return afterPassword(request, reply, { password, prepare }, async (transaction, account) => {
      await useAnyCode(transaction, keyring, { account, code }, clock.now())
      await resetAttempts(transaction, codes.subject)
      return await work(transaction, account, undefined)
    })
  }

  return async (app) => {
    requireSession(app)

    app.post(
      `${AUTH_PATH}/update-user`,
      { schema: { body: contract.NewName, response: Responses(200, contract.Done) } },
      async (request) => {
        await renameUser(db, getSession(request), request.body.name, requestOrigin(request, clock.now()))
        return DONE
      },
    )

    app.post(
      `${AUTH_PATH}/change-password`,
      { schema: { body: contract.PasswordChange, response: Responses(200, contract.Done) } },
      async (request, reply) => {
        const { currentPassword, newPassword } = request.body
        refuseCommonPassword(newPassword, 'newPassword')
        const check = {
          password: currentPassword,
          field: 'currentPassword',
          prepare: () => passwords.hash(newPassword),
        }
        const session = await afterPassword(request, reply, check, (transaction, account, passwordHash) =>
          changePassword(transaction, account, passwordHash!, browserOrigin(request, clock.now())),
        )
        setSessionCookie(config, reply, session)
        return DONE
      },
    )

    app.post(
      `${AUTH_PATH}/change-email`,
      { schema: { body: contract.EmailChange, response: Responses(200, contract.EmailChanged) } },
      async (request, reply) => {
        const { userId, email } = getSession(request)
        const { newEmail, password } = request.body
        if (normalizeEmail(newEmail) === email) throw conflict('This is already the email address of your account.')
        const sendsMail = config.smtp !== null
        // The address may belong to somebody else, so mails to it are limited even with the correct password.
        const counters = [
          { subject: `new address of ${userId}`, free: 5 },
          ...addressCounters('new address', request.ip, 20),
          { subject: hashedSubject('new address', newEmail), free: 3 },
        ]
        const prepare = async () => void (sendsMail && (await countAttempts(deps, reply, counters)))
        await afterPassword(request, reply, { password, prepare }, async (transaction, account) => {
          if (sendsMail) return await sendEmailChangeLink(transaction, deps, userId, newEmail)
          const change = { account, email: newEmail, isVerified: false }
          await changeEmail(transaction, change, requestOrigin(request, clock.now()))
        })
        return { confirm: sendsMail }
      },
    )

    app.post(
      `${AUTH_PATH}/two-factor/enable`,
      { schema: { body: contract.PasswordOnly, response: Responses(200, contract.SecondFactor) } },
      async (request, reply) =>
        await afterPassword(request, reply, request.body, async (transaction, account) => {
          const { totpURI, recoveryCodes } = await insertSecondFactor(transaction, keyring, account)
          return { totpURI, backupCodes: recoveryCodes }
        }),
    )

    app.post(
      `${AUTH_PATH}/two-factor/disable`,
      { schema: { body: contract.PasswordAndCode, response: Responses(200, contract.Done) } },
      async (request, reply) => {
        await afterPasswordAndCode(request, reply, request.body, (transaction, account) =>
          disableSecondFactor(transaction, account, requestOrigin(request, clock.now())),
        )
        return DONE
      },
    )

    app.post(
      `${AUTH_PATH}/two-factor/generate-backup-codes`,
      { schema: { body: contract.PasswordAndCode, response: Responses(200, contract.RecoveryCodes) } },
      async (request, reply) =>
        await afterPasswordAndCode(request, reply, request.body, async (transaction, account) => ({
          backupCodes: await replaceRecoveryCodes(transaction, keyring, account, requestOrigin(request, clock.now())),
        })),
    )

    app.post(
      `${AUTH_PATH}/delete-account`,
      { schema: { body: contract.AccountDeletion, response: Responses(200, contract.Done) } },
      async (request, reply) => {
        const { password, code = '' } = request.body
        const origin = requestOrigin(request, clock.now())
        const remove: AccountWork<number, void> = (transaction, account) => deleteAccount(transaction, account, origin)
        // Without a second factor there is no code to ask for.
        if (getSession(request).hasSecondFactor) await afterPasswordAndCode(request, reply, { password, code }, remove)
        else
          await afterPassword(request, reply, { password }, (transaction, account) => {
            if (account.hasSecondFactor) throw invalid({ code: fieldError('required') })
            return remove(transaction, account, undefined)
          })
        setCookie(reply, config, 'session_token', '', 0)
        return DONE
      },
    )

    app.get(
      '/dashboard/api/me/data',
      { schema: { response: Responses(200, contract.PersonalData) } },
      async (request, reply) => {
        const day = toIso(clock.now()).slice(0, 10)
        reply.header('content-disposition', `attachment; filename="zonewatch-${day}.json"`)
        return await exportPersonalData(db, getSession(request).userId)
      },
    )

    app.get(
      `${AUTH_PATH}/list-sessions`,
      { schema: { response: Responses(200, contract.Sessions) } },
      async (request) => ({ data: await listSessions(db, getSession(request), clock.now()) }),
    )

    app.post(
      `${AUTH_PATH}/revoke-session`,
      { schema: { body: contract.SessionChoice, response: Responses(200, contract.Done) } },
      async (request) => {
        await deleteSession(db, getSession(request).userId, request.body.id)
        return DONE
      },
    )

    app.post(
      `${AUTH_PATH}/revoke-other-sessions`,
      { schema: { response: Responses(200, contract.Done) } },
      async (request) => {
        const { userId, id } = getSession(request)
        await deleteSessions(db, userId, id)
        return DONE
      },
    )
  }
}
