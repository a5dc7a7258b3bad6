import type { FastifyRequest } from 'fastify'
import * as contract from '#contract/account.ts'
import { recordAccountAudit } from '../audit-log.ts'
import { originOf } from '../context.ts'
import { inTransaction } from '../database/database.ts'
import type { Deps } from '../deps.ts'
import { Answers, type Routes } from '../http/routes.ts'
import { conflict } from '../problem.ts'
import { count, fromAddress, subjectOf } from './account-attempts.ts'
import { needSession, signedIn } from './account-gate.ts'
import { AUTH_PATH, type Auth } from './auth.ts'
import { asCaller, asked, DONE, tryAt } from './auth-calls.ts'
import { changeEmail, sendEmailLink, tellPerson } from './links.ts'
import { renameAgents } from './people.ts'
import { endOtherSessions, endSession, forgetTrust, listSessions } from './session-store.ts'

/** What a person who is signed in changes about the own account. Bodies and answers: `contract/account.ts`. */
export function accountSecurityRoutes(deps: Deps, auth: Auth): Routes {
  const { db, clock, config } = deps
  return async (app) => {
    needSession(app)
    const record = (request: FastifyRequest, audited: Parameters<typeof recordAccountAudit>[3]) =>
      recordAccountAudit(db, originOf(request, clock.now()), signedIn(request).personId, audited)

    app.post(
      `${AUTH_PATH}/update-user`,
      { schema: { body: contract.NewName, response: Answers(200, contract.Done) } },
      async (request, reply) => {
        await asked(reply, auth.api.updateUser({ body: request.body, ...asCaller(request) }))
        const { personId, name } = signedIn(request)
        const audited = { action: 'agent.renamed', before: { name }, after: request.body } as const
        await inTransaction(db, async (transaction) => {
          await renameAgents(transaction, personId, request.body.name)
          await recordAccountAudit(transaction, originOf(request, clock.now()), personId, audited)
        })
        return DONE
      },
    )

    app.post(
      `${AUTH_PATH}/change-password`,
      { schema: { body: contract.PasswordChange, response: Answers(200, contract.Done) } },
      async (request, reply) => {
        const body = { ...request.body, revokeOtherSessions: true }
        await tryAt(deps, auth, request, reply, 'password', () =>
          asked(reply, auth.api.changePassword({ body, ...asCaller(request) }), 'currentPassword'),
        )
        const { personId, email } = signedIn(request)
        await forgetTrust(db, personId)
        await tellPerson(db, email, { kind: 'password_changed' }, clock.now())
        await record(request, { action: 'agent.password_changed' })
        return DONE
      },
    )

    app.post(
      `${AUTH_PATH}/change-email`,
      { schema: { body: contract.EmailChange, response: Answers(200, contract.EmailChanged) } },
      async (request, reply) => {
        const { personId, email } = signedIn(request)
        const { newEmail, password } = request.body
        if (newEmail.trim().toLowerCase() === email) throw conflict('This is already the address of your account.')
        await tryAt(deps, auth, request, reply, 'password', () =>
          asked(reply, auth.api.verifyPassword({ body: { password }, ...asCaller(request) })),
        )
        if (config.smtp === null) {
          await changeEmail(db, { personId, email: newEmail, isVerified: false }, originOf(request, clock.now()))
          return { confirm: false }
        }
        // The address may be anybody's, and the password being right is no reason to mail it again and again.
        const mailed = [
          { subject: `new address of ${personId}`, free: 5 },
          ...fromAddress('new address', request.ip, 20),
        ]
        await count(deps, reply, [...mailed, { subject: subjectOf('new address', newEmail), free: 3 }])
        await sendEmailLink(deps, auth, personId, newEmail)
        return { confirm: true }
      },
    )

    app.post(
      `${AUTH_PATH}/two-factor/enable`,
      { schema: { body: contract.PasswordOnly, response: Answers(200, contract.SecondFactor) } },
      async (request, reply) => {
        if (signedIn(request).hasSecondFactor) throw conflict('Two-factor authentication is on. Turn it off first.')
        return await tryAt(deps, auth, request, reply, 'password', () =>
          asked(reply, auth.api.enableTwoFactor({ body: request.body, ...asCaller(request) })),
        )
      },
    )

    app.post(
      `${AUTH_PATH}/two-factor/disable`,
      { schema: { body: contract.PasswordOnly, response: Answers(200, contract.Done) } },
      async (request, reply) => {
        await tryAt(deps, auth, request, reply, 'password', () =>
          asked(reply, auth.api.disableTwoFactor({ body: request.body, ...asCaller(request) })),
        )
        const { personId, hasSecondFactor } = signedIn(request)
        await forgetTrust(db, personId)
        if (hasSecondFactor) await record(request, { action: 'agent.second_factor_disabled' })
        return DONE
      },
    )

    app.post(
      `${AUTH_PATH}/two-factor/generate-backup-codes`,
      { schema: { body: contract.PasswordOnly, response: Answers(200, contract.BackupCodes) } },
      async (request, reply) => {
        const { backupCodes } = await tryAt(deps, auth, request, reply, 'password', () =>
          asked(reply, auth.api.generateBackupCodes({ body: request.body, ...asCaller(request) })),
        )
        await record(request, { action: 'agent.backup_codes_created' })
        return { backupCodes }
      },
    )

    app.get(
      `${AUTH_PATH}/list-sessions`,
      { schema: { response: Answers(200, contract.Sessions) } },
      async (request) => ({
        data: await listSessions(db, signedIn(request), clock.now()),
      }),
    )

    app.post(
      `${AUTH_PATH}/revoke-session`,
      { schema: { body: contract.SessionChoice, response: Answers(200, contract.Done) } },
      async (request) => {
        await endSession(db, signedIn(request).personId, request.body.id)
        return DONE
      },
    )

    app.post(
      `${AUTH_PATH}/revoke-other-sessions`,
      { schema: { response: Answers(200, contract.Done) } },
      async (request) => {
        await endOtherSessions(db, signedIn(request))
        return DONE
      },
    )
  }
}
