import type { FastifyReply, FastifyRequest } from 'fastify'
import * as contract from '#contract/account.ts'
import { fieldError } from '#contract/field-errors.ts'
import { recordAccountAudit } from '../audit-log.ts'
import { requestOrigin } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import type { Deps } from '../deps.ts'
import { Responses, type Routes } from '../http/routes.ts'
import { conflict, invalid } from '../problem.ts'
import { addressCounters, countAttempts, hashedSubject, limitAttempts, userAttempt } from './attempt-limits.ts'
import { setSessionCookie } from './cookies.ts'
import { changeEmail, replacePassword, sendEmailLink } from './mailed-links.ts'
import type { Passwords } from './passwords.ts'
import { AUTH_PATH, DONE, getSession, requireSession } from './request-session.ts'
import { disableSecondFactor, insertSecondFactor, noSecondFactor, replaceBackupCodes } from './second-factor.ts'
import { deleteSession, deleteSessions, insertSession, listSessions } from './sessions.ts'
import { type Account, findAccountById, lockAccount, normalizeEmail, renameUser } from './users.ts'

/** Changes of a signed-in user's own account. Bodies and responses: `contract/account.ts`. */
export function accountSecurityRoutes(deps: Deps, passwords: Passwords): Routes {
  const { db, clock, config, seal } = deps

  /**
   * Checks the password and runs `work` in a transaction that locks the account. Throws 400 for a wrong password.
   * `prepare` runs after the check and before the transaction.
   */
  const withPassword = async <T, P>(
    request: FastifyRequest,
    reply: FastifyReply,
    { password, field = 'password', prepare }: { password: string; field?: string; prepare?: () => Promise<P> },
    work: (transaction: Database, account: Account, prepared: P | undefined) => Promise<T>,
  ): Promise<T> => {
    const { userId } = getSession(request)
    const wrong = () => invalid({ [field]: fieldError('wrong_password') })
    return await limitAttempts(deps, reply, userAttempt('password', userId, request.ip), async () => {
      const hash = (await findAccountById(db, userId))?.passwordHash
      if (!hash || !(await passwords.verify({ hash, password }))) throw wrong()
      const prepared = await prepare?.()
      return await inTransaction(db, async (transaction) => {
        const account = await lockAccount(transaction, userId)
        if (account?.passwordHash !== hash) throw wrong()
        return await work(transaction, account, prepared)
      })
    })
  }

  const record = (
    transaction: Database,
    request: FastifyRequest,
    entry: Parameters<typeof recordAccountAudit>[3],
  ): Promise<void> =>
    recordAccountAudit(transaction, requestOrigin(request, clock.now()), getSession(request).userId, entry)

  return async (app) => {
    requireSession(app)

    app.post(
      `${AUTH_PATH}/update-user`,
      { schema: { body: contract.NewName, response: Responses(200, contract.Done) } },
      async (request) => {
        const { userId, name } = getSession(request)
        await inTransaction(db, async (transaction) => {
          await renameUser(transaction, userId, request.body.name, clock.now())
          await record(transaction, request, { action: 'agent.renamed', before: { name }, after: request.body })
        })
        return DONE
      },
    )

    app.post(
      `${AUTH_PATH}/change-password`,
      { schema: { body: contract.PasswordChange, response: Responses(200, contract.Done) } },
      async (request, reply) => {
        const { currentPassword, newPassword } = request.body
        const check = {
          password: currentPassword,
          field: 'currentPassword',
          prepare: () => passwords.hash(newPassword),
        }
        const session = await withPassword(request, reply, check, async (transaction, account, passwordHash) => {
          const now = clock.now()
          await replacePassword(transaction, account, passwordHash!, now)
          await record(transaction, request, { action: 'agent.password_changed' })
          return await insertSession(transaction, request, { userId: account.id, isPersistent: true }, now)
        })
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
        await withPassword(request, reply, { password, prepare }, async (transaction, account) => {
          if (sendsMail) return await sendEmailLink(transaction, deps, userId, newEmail)
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
        await withPassword(request, reply, request.body, async (transaction, account) => {
          if (account.hasSecondFactor) throw conflict('Two-factor authentication is on. Turn it off first.')
          return await insertSecondFactor(transaction, seal, account)
        }),
    )

    app.post(
      `${AUTH_PATH}/two-factor/disable`,
      { schema: { body: contract.PasswordOnly, response: Responses(200, contract.Done) } },
      async (request, reply) => {
        await withPassword(request, reply, request.body, (transaction, account) =>
          disableSecondFactor(transaction, account, requestOrigin(request, clock.now())),
        )
        return DONE
      },
    )

    app.post(
      `${AUTH_PATH}/two-factor/generate-backup-codes`,
      { schema: { body: contract.PasswordOnly, response: Responses(200, contract.BackupCodes) } },
      async (request, reply) =>
        await withPassword(request, reply, request.body, async (transaction, { id, hasSecondFactor }) => {
          const backupCodes = hasSecondFactor ? await replaceBackupCodes(transaction, seal, id) : undefined
          if (!backupCodes) throw noSecondFactor()
          await record(transaction, request, { action: 'agent.backup_codes_created' })
          return { backupCodes }
        }),
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
