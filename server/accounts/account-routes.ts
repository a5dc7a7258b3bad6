import type { FastifyRequest } from 'fastify'
import {
  Acceptance,
  Accepted,
  Me,
  NewOrganization,
  OfferedInvitation,
  Setup,
  SignedUp,
  SignUp,
  Welcome,
} from '#contract/account.ts'
import { Nullable } from '#contract/common.ts'
import { fieldError } from '#contract/field-errors.ts'
import { requestOrigin } from '../context.ts'
import { type Database, inTransaction } from '../database/database.ts'
import type { Deps } from '../deps.ts'
import { Params, Responses, type Routes } from '../http/routes.ts'
import { forbidden, invalid } from '../problem.ts'
import { addressCounters, countAttempts, hashedSubject } from './attempt-limits.ts'
import { renewSessionCookie, setSessionCookie } from './cookies.ts'
import { acceptInvitation, getOfferedInvitation, getPendingInvitation } from './invitations.ts'
import { sendSignUpLink } from './mailed-links.ts'
import { getMe } from './memberships.ts'
import { insertOwnedOrganization, refuseTooManyOrganizations } from './organizations.ts'
import type { Passwords } from './passwords.ts'
import { getSession, protectAccountRoutes } from './request-session.ts'
import { accountSecurityRoutes } from './security-routes.ts'
import { extendSession, insertSession } from './sessions.ts'
import { hasOrganizations, isSetupToken, setUpOnce } from './setup.ts'
import { Background, signInRoutes } from './sign-in-routes.ts'
import { findUser, insertUser, refuseTakenEmail } from './users.ts'

/** What a user does outside of an organization: set up the server, sign up, sign in, accept an invitation, read the own account. */
export function accountRoutes(deps: Deps, passwords: Passwords): Routes {
  const { db, clock, config, seal } = deps
  const isOpen = config.signUp === 'open'
  return async (app) => {
    protectAccountRoutes(app, deps)
    const background = new Background(deps.log)
    app.addHook('onClose', () => background.close())
    await app.register(signInRoutes(deps, passwords, background))
    await app.register(accountSecurityRoutes(deps, passwords))

    const startSession = (transaction: Database, request: FastifyRequest, userId: string, now: number) =>
      insertSession(transaction, request, { userId, isPersistent: true }, now)

    app.get('/dashboard/api/me', { schema: { response: Responses(200, Me) } }, async (request, reply) => {
      const { id, userId } = getSession(request)
      if (await extendSession(db, id, clock.now())) renewSessionCookie(config, request, reply)
      return await getMe(deps, userId)
    })

    app.get('/dashboard/api/welcome', { schema: { response: Responses(200, Welcome) } }, async () => ({
      needs_setup: !(await hasOrganizations(db)),
      sign_up: isOpen,
      sends_mail: config.smtp !== null,
    }))

    app.post(
      '/dashboard/api/setup',
      { schema: { body: Setup, response: Responses(200, Me) } },
      async (request, reply) => {
        const { token, ...setup } = request.body
        if (!(await isSetupToken(db, seal, token)) || (await hasOrganizations(db))) throw badLink()
        const passwordHash = await passwords.hash(setup.password)
        const created = await setUpOnce(db, async (transaction) => {
          const origin = requestOrigin(request, clock.now())
          const user = await insertUser(transaction, { ...setup, passwordHash }, origin.now)
          await insertOwnedOrganization(transaction, user, setup.organization, origin)
          return { user, session: await startSession(transaction, request, user.id, origin.now) }
        })
        if (!created) throw badLink()
        setSessionCookie(config, reply, created.session)
        return await getMe(deps, created.user.id)
      },
    )

    app.post(
      '/dashboard/api/sign-up',
      { schema: { body: SignUp, response: Responses(200, SignedUp) } },
      async (request, reply) => {
        if (!isOpen)
          throw forbidden('Sign-up is disabled on this server. Ask an admin of your organization for an invitation.')
        const { password, ...account } = request.body
        const emailCounter = { subject: hashedSubject('sign-up', account.email), free: 3 }
        await countAttempts(deps, reply, [...addressCounters('sign-up', request.ip, 5), emailCounter])
        const signUp = { ...account, passwordHash: await passwords.hash(password) }
        if (config.smtp !== null) {
          // In the background, so that the response time does not reveal whether the address has an account.
          background.start(sendSignUpLink(deps, signUp), 'The confirmation email could not be created.')
          return { confirm: true }
        }
        const session = await inTransaction(db, async (transaction) => {
          const origin = requestOrigin(request, clock.now())
          const user = await insertUser(transaction, signUp, origin.now)
          await insertOwnedOrganization(transaction, user, account.organization, origin)
          return await startSession(transaction, request, user.id, origin.now)
        })
        setSessionCookie(config, reply, session)
        return { confirm: false }
      },
    )

    app.post(
      '/dashboard/api/organizations',
      { schema: { body: NewOrganization, response: Responses(201, Accepted) } },
      async (request, reply) => {
        const { userId: id, name, email } = getSession(request)
        if (!isOpen)
          throw forbidden('Only the operator can create organizations on this server, with: zonewatch setup.')
        const created = await inTransaction(db, async (transaction) => {
          await refuseTooManyOrganizations(transaction, id)
          const origin = requestOrigin(request, clock.now())
          return await insertOwnedOrganization(transaction, { id, name, email }, request.body.name, origin)
        })
        return reply.code(201).send({ organization_id: created.id })
      },
    )

    app.get(
      '/dashboard/api/invitations/:token',
      { schema: { params: Params('token'), response: Responses(200, OfferedInvitation) } },
      async ({ params }) => {
        const invitation = await getOfferedInvitation(db, params.token, clock.now())
        return { ...invitation, has_account: (await findUser(db, invitation.email)) !== undefined }
      },
    )

    app.post(
      '/dashboard/api/invitations/:token/accept',
      {
        schema: {
          params: Params('token'),
          body: Nullable(Acceptance),
          response: Responses(200, Accepted),
        },
      },
      async (request, reply) => {
        const { token } = request.params
        const { session } = request
        const origin = requestOrigin(request, clock.now())
        if (session) {
          const user = { id: session.userId, name: session.name, email: session.email }
          const { organizationId } = await acceptInvitation(db, { token, user }, origin)
          return { organization_id: organizationId }
        }
        const { email } = await getPendingInvitation(db, token, clock.now())
        await refuseTakenEmail(db, email)
        const { name, password } = nameAndPassword(request.body ?? {})
        const passwordHash = await passwords.hash(password)
        const accepted = await inTransaction(db, async (transaction) => {
          const user = await insertUser(transaction, { name, email, passwordHash }, origin.now)
          const { organizationId } = await acceptInvitation(transaction, { token, user }, origin)
          return { organizationId, session: await startSession(transaction, request, user.id, origin.now) }
        })
        setSessionCookie(config, reply, accepted.session)
        return { organization_id: accepted.organizationId }
      },
    )
  }
}

/** A new account needs both. Throws 400. */
function nameAndPassword({ name, password }: Acceptance): { name: string; password: string } {
  if (name !== undefined && password !== undefined) return { name, password }
  const missing = fieldError('required_for_new_account')
  throw invalid({
    ...(name === undefined ? { name: missing } : {}),
    ...(password === undefined ? { password: missing } : {}),
  })
}

const badLink = () =>
  forbidden('This setup link was already used or belongs to another server. Use the link in the server log.')
