import type { FastifyReply, FastifyRequest } from 'fastify'
import * as contract from '#contract/account.ts'
import { fieldError } from '#contract/field-errors.ts'
import { recordAccountAudit } from '../audit-log.ts'
import { originOf } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import type { Deps } from '../deps.ts'
import { Answers, type Routes } from '../http/routes.ts'
import { conflict, invalid } from '../problem.ts'
import { byPerson, count, fromAddress, guarded, subjectOf } from './guess-limit.ts'
import { changeEmail, replacePassword, sendEmailLink } from './mailed-links.ts'
import type { Passwords } from './passwords.ts'
import { type Account, emailOf, findAccountById, lockAccount, renamePerson } from './people.ts'
import { disableSecondFactor, insertSecondFactor, noSecondFactor, replaceBackupCodes } from './second-factor.ts'
import {
  AUTH_PATH,
  DONE,
  deleteSession,
  deleteSessions,
  insertSession,
  listSessions,
  needSession,
  setSessionCookie,
  signedIn,
} from './sessions.ts'

/** What a person who is signed in changes about the own account. Bodies and answers: `contract/account.ts`. */
export function accountSecurityRoutes(deps: Deps, passwords: Passwords): Routes {
  const { db, clock, config, seal } = deps

  /**
   * Runs the work while the password holds, in a transaction that locks the account. Throws 400 for a wrong password.
   * `prepare` runs before the transaction, once the password is right.
   */
  const withPassword = async <T, P>(
    request: FastifyRequest,
    reply: FastifyReply,
    { password, field = 'password', prepare }: { password: string; field?: string; prepare?: () => Promise<P> },
    work: (transaction: Database, account: Account, prepared: P | undefined) => Promise<T>,
  ): Promise<T> => {
    const { personId } = signedIn(request)
    const wrong = () => invalid({ [field]: fieldError('wrong_password') })
    return await guarded(deps, reply, byPerson('password', personId, request.ip), async () => {
      const hash = (await findAccountById(db, personId))?.passwordHash
      if (!hash || !(await passwords.verify({ hash, password }))) throw wrong()
      const prepared = await prepare?.()
      return await inTransaction(db, async (transaction) => {
        const account = await lockAccount(transaction, personId)
        if (account?.passwordHash !== hash) throw wrong()
        return await work(transaction, account, prepared)
      })
    })
  }

  const record = (
    transaction: Database,
    request: FastifyRequest,
    audited: Parameters<typeof recordAccountAudit>[3],
  ): Promise<void> =>
    recordAccountAudit(transaction, originOf(request, clock.now()), signedIn(request).personId, audited)

  return async (app) => {
    needSession(app)

    app.post(
      `${AUTH_PATH}/update-user`,
      { schema: { body: contract.NewName, response: Answers(200, contract.Done) } },
      async (request) => {
        const { personId, name } = signedIn(request)
        await inTransaction(db, async (transaction) => {
          await renamePerson(transaction, personId, request.body.name, clock.now())
          await record(transaction, request, { action: 'agent.renamed', before: { name }, after: request.body })
        })
        return DONE
      },
    )

    app.post(
      `${AUTH_PATH}/change-password`,
      { schema: { body: contract.PasswordChange, response: Answers(200, contract.Done) } },
      async (request, reply) => {
        const { currentPassword, newPassword } = request.body
        const given = {
          password: currentPassword,
          field: 'currentPassword',
          prepare: () => passwords.hash(newPassword),
        }
        const session = await withPassword(request, reply, given, async (transaction, account, passwordHash) => {
          const now = clock.now()
          await replacePassword(transaction, account, passwordHash!, now)
          await record(transaction, request, { action: 'agent.password_changed' })
          return await insertSession(transaction, request, { personId: account.id, isPersistent: true }, now)
        })
        setSessionCookie(config, reply, session)
        return DONE
      },
    )

    app.post(
      `${AUTH_PATH}/change-email`,
      { schema: { body: contract.EmailChange, response: Answers(200, contract.EmailChanged) } },
      async (request, reply) => {
        const { personId, email } = signedIn(request)
        const { newEmail, password } = request.body
        if (emailOf(newEmail) === email) throw conflict('This is already the email address of your account.')
        const sendsMail = config.smtp !== null
        // The address may be anybody's, and the password being right is no reason to mail it again and again.
        const mailed = [
          { subject: `new address of ${personId}`, free: 5 },
          ...fromAddress('new address', request.ip, 20),
          { subject: subjectOf('new address', newEmail), free: 3 },
        ]
        const prepare = async () => void (sendsMail && (await count(deps, reply, mailed)))
        await withPassword(request, reply, { password, prepare }, async (transaction, account) => {
          if (sendsMail) return await sendEmailLink(transaction, deps, personId, newEmail)
          const change = { account, email: newEmail, isVerified: false }
          await changeEmail(transaction, change, originOf(request, clock.now()))
        })
        return { confirm: sendsMail }
      },
    )

    app.post(
      `${AUTH_PATH}/two-factor/enable`,
      { schema: { body: contract.PasswordOnly, response: Answers(200, contract.SecondFactor) } },
      async (request, reply) =>
        await withPassword(request, reply, request.body, async (transaction, account) => {
          if (account.hasSecondFactor) throw conflict('Two-factor authentication is on. Turn it off first.')
          return await insertSecondFactor(transaction, seal, account)
        }),
    )

    app.post(
      `${AUTH_PATH}/two-factor/disable`,
      { schema: { body: contract.PasswordOnly, response: Answers(200, contract.Done) } },
      async (request, reply) => {
        await withPassword(request, reply, request.body, (transaction, account) =>
          disableSecondFactor(transaction, account, originOf(request, clock.now())),
        )
        return DONE
      },
    )

    app.post(
      `${AUTH_PATH}/two-factor/generate-backup-codes`,
      { schema: { body: contract.PasswordOnly, response: Answers(200, contract.BackupCodes) } },
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
      { schema: { response: Answers(200, contract.Sessions) } },
      async (request) => ({ data: await listSessions(db, signedIn(request), clock.now()) }),
    )

    app.post(
      `${AUTH_PATH}/revoke-session`,
      { schema: { body: contract.SessionChoice, response: Answers(200, contract.Done) } },
      async (request) => {
        await deleteSession(db, signedIn(request).personId, request.body.id)
        return DONE
      },
    )

    app.post(
      `${AUTH_PATH}/revoke-other-sessions`,
      { schema: { response: Answers(200, contract.Done) } },
      async (request) => {
        const { personId, id } = signedIn(request)
        await deleteSessions(db, personId, id)
        return DONE
      },
    )
  }
}
